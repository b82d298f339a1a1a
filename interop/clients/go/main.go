// A client on Azure/go-amqp: client URL MODE ADDRESS COUNT SIZE (see ../README.md).
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/Azure/go-amqp"
)

const inFlight = 50

type counts struct {
	mutex                    sync.Mutex
	sent, accepted, received int
}

func (c *counts) add(to *int) {
	c.mutex.Lock()
	*to++
	c.mutex.Unlock()
}

// send has some messages on their way at once, as the library's users do from several goroutines.
func send(ctx context.Context, session *amqp.Session, address string, count, size int, c *counts) error {
	sender, err := session.NewSender(ctx, address, nil)
	if err != nil {
		return err
	}
	body := make([]byte, size)
	todo := make(chan struct{}, count)
	for i := 0; i < count; i++ {
		todo <- struct{}{}
	}
	close(todo)
	failures := make(chan error, inFlight)
	for i := 0; i < inFlight; i++ {
		go func() {
			for range todo {
				c.add(&c.sent)
				if err := sender.Send(ctx, amqp.NewMessage(body), nil); err != nil {
					failures <- err
					return
				}
				c.add(&c.accepted)
			}
			failures <- nil
		}()
	}
	for i := 0; i < inFlight; i++ {
		if err := <-failures; err != nil {
			return err
		}
	}
	return nil
}

func receive(ctx context.Context, session *amqp.Session, address string, count int, c *counts) error {
	receiver, err := session.NewReceiver(ctx, address, &amqp.ReceiverOptions{Credit: 10})
	if err != nil {
		return err
	}
	for i := 0; i < count; i++ {
		message, err := receiver.Receive(ctx, nil)
		if err != nil {
			return err
		}
		if err := receiver.AcceptMessage(ctx, message); err != nil {
			return err
		}
		c.add(&c.received)
	}
	return nil
}

func run(url, mode, address string, count, size int, c *counts) error {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	connection, err := amqp.Dial(ctx, url, &amqp.ConnOptions{ContainerID: "go-amqp"})
	if err != nil {
		return err
	}
	session, err := connection.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	results := make(chan error, 2)
	expected := 0
	if mode != "recv" {
		expected++
		go func() { results <- send(ctx, session, address, count, size, c) }()
	}
	if mode != "send" {
		expected++
		go func() { results <- receive(ctx, session, address, count, c) }()
	}
	for ; expected > 0; expected-- {
		if err := <-results; err != nil {
			return err
		}
	}
	return connection.Close()
}

func main() {
	if len(os.Args) > 4 && os.Args[1] == "agent" {
		os.Exit(runAgent(os.Args[2:]))
	}
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: client amqp://USER:PASSWORD@HOST:PORT send|recv|both ADDRESS COUNT SIZE")
		os.Exit(2)
	}
	count, _ := strconv.Atoi(os.Args[4])
	size, _ := strconv.Atoi(os.Args[5])
	var c counts
	err := run(os.Args[1], os.Args[2], os.Args[3], count, size, &c)
	fmt.Printf("sent=%d accepted=%d received=%d\n", c.sent, c.accepted, c.received)
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-amqp:", err)
		os.Exit(1)
	}
}
