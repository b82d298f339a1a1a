module sluice.invalid/interop/client

go 1.18

require github.com/Azure/go-amqp v1.0.5
