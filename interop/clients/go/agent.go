// The agent of interop pairings on Azure/go-amqp (see ../README.md): client agent URL MODE ADDRESS [option=value...].
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/go-amqp"
)

type agent struct {
	options     map[string]string
	session     *amqp.Session
	address     string
	count       int
	outcomes    map[string]int
	received    int
	cameSettled int
}

func (a *agent) number(name string) int {
	n, _ := strconv.Atoi(a.options[name])
	return n
}

// Settle modes are left to the library where nothing was asked for.
func (a *agent) modes() (*amqp.SenderSettleMode, *amqp.ReceiverSettleMode) {
	snd := map[string]amqp.SenderSettleMode{
		"unsettled": amqp.SenderSettleModeUnsettled, "settled": amqp.SenderSettleModeSettled,
		"mixed": amqp.SenderSettleModeMixed}[a.options["snd"]]
	rcv := map[string]amqp.ReceiverSettleMode{
		"first": amqp.ReceiverSettleModeFirst, "second": amqp.ReceiverSettleModeSecond}[a.options["rcv"]]
	return &snd, &rcv
}

// echo decodes and encodes each message, and accepts it once what was sent in its place is accepted.
func (a *agent) echo(ctx context.Context) error {
	receiver, err := a.session.NewReceiver(ctx, a.address, &amqp.ReceiverOptions{Credit: int32(a.number("credit"))})
	if err != nil {
		return err
	}
	sender, err := a.session.NewSender(ctx, a.options["to"], nil)
	if err != nil {
		return err
	}
	for {
		message, err := receiver.Receive(ctx, nil)
		if err != nil {
			return err
		}
		// What it cannot encode ends the run, and the message goes back.
		// An empty message, which a body of null becomes, is never sent: without a deadline it would wait for ever.
		limited, done := context.WithTimeout(ctx, 15*time.Second)
		err = sender.Send(limited, message, nil)
		done()
		if err != nil {
			return err
		}
		if err := receiver.AcceptMessage(ctx, message); err != nil {
			return err
		}
	}
}

func (a *agent) send(ctx context.Context) error {
	snd, rcv := a.modes()
	sender, err := a.session.NewSender(ctx, a.address, &amqp.SenderOptions{
		SettlementMode: snd, RequestedReceiverSettleMode: rcv})
	if err != nil {
		return err
	}
	for i := 0; i < a.count; i++ {
		body := strconv.Itoa(i)
		if size := a.number("size"); size > 0 {
			body = strings.Repeat("x", size)
		}
		err := sender.Send(ctx, &amqp.Message{Value: body}, nil)
		var refused *amqp.Error
		switch {
		case err == nil && *snd == amqp.SenderSettleModeSettled:
			a.outcomes["settled"]++
		case err == nil:
			a.outcomes["accepted"]++
		case errors.As(err, &refused):
			a.outcomes["rejected"]++
		default:
			return err
		}
		if (i+1)%100 == 0 {
			fmt.Printf("progress %d\n", i+1)
		}
	}
	return nil
}

func (a *agent) answer(ctx context.Context, receiver *amqp.Receiver, message *amqp.Message) error {
	switch a.options["action"] {
	case "release":
		return receiver.ReleaseMessage(ctx, message)
	case "reject":
		return receiver.RejectMessage(ctx, message, &amqp.Error{
			Condition: amqp.ErrCondNotAllowed, Description: "by the test"})
	case "modify":
		return receiver.ModifyMessage(ctx, message, &amqp.ModifyMessageOptions{DeliveryFailed: true})
	}
	return receiver.AcceptMessage(ctx, message)
}

func (a *agent) receive(ctx context.Context) error {
	snd, rcv := a.modes()
	credit := a.number("credit")
	if credit > a.count {
		credit = a.count
	}
	receiver, err := a.session.NewReceiver(ctx, a.address, &amqp.ReceiverOptions{
		Credit: -1, RequestedSenderSettleMode: snd, SettlementMode: rcv})
	if err != nil {
		return err
	}
	if err := receiver.IssueCredit(uint32(credit)); err != nil {
		return err
	}
	granted := credit
	for a.received < a.count {
		message, err := receiver.Receive(ctx, nil)
		if err != nil {
			return err
		}
		a.received++
		if a.options["action"] == "hold" {
			continue
		}
		// The library does not tell whether a message came settled; an answer to one that did does nothing.
		if err := a.answer(ctx, receiver, message); err != nil {
			return err
		}
		if granted < a.count {
			granted++
			if err := receiver.IssueCredit(1); err != nil {
				return err
			}
		}
	}
	if a.options["action"] == "hold" {
		fmt.Println("ready")
		<-ctx.Done()
	}
	return nil
}

// drain says so where the library has no call for it, as in 1.0.5, whose documentation names one.
func (a *agent) drain(ctx context.Context) error {
	receiver, err := a.session.NewReceiver(ctx, a.address, &amqp.ReceiverOptions{Credit: -1})
	if err != nil {
		return err
	}
	if _, has := reflect.TypeOf(receiver).MethodByName("DrainCredit"); !has {
		return errors.New("the library has no call for a drain")
	}
	return errors.New("the library has a call for a drain: use it here")
}

func (a *agent) run(url, mode string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Second)
	defer cancel()
	connection, err := amqp.Dial(ctx, url, &amqp.ConnOptions{
		ContainerID: "go-amqp", IdleTimeout: time.Duration(a.number("idle")) * time.Millisecond})
	if err != nil {
		return err
	}
	if a.session, err = connection.NewSession(ctx, nil); err != nil {
		return err
	}
	modes := map[string]func(context.Context) error{"echo": a.echo, "send": a.send, "recv": a.receive, "drain": a.drain}
	if err := modes[mode](ctx); err != nil {
		return err
	}
	return connection.Close()
}

func runAgent(arguments []string) int {
	a := agent{address: arguments[2], outcomes: map[string]int{}, options: map[string]string{
		"to": "", "count": "1", "size": "0", "credit": "100", "snd": "mixed", "rcv": "first", "action": "accept", "idle": "0"}}
	for _, argument := range arguments[3:] {
		name, value, _ := strings.Cut(argument, "=")
		a.options[name] = value
	}
	a.count = a.number("count")
	err := a.run(arguments[0], arguments[1])
	names := []string{}
	for name, n := range a.outcomes {
		names = append(names, fmt.Sprintf("%s=%d", name, n))
	}
	sort.Strings(names)
	fmt.Printf("received=%d settled=%d\noutcomes %s\n", a.received, a.cameSettled, strings.Join(names, " "))
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-amqp:", err)
		return 1
	}
	return 0
}
