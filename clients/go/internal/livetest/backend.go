package livetest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/toolbatch/toolbatch/clients/go/backend"
)

// Backend is a tool backend of this library, within the test's process.
type Backend struct {
	// Address is its HOST:PORT.
	Address string

	stop    context.CancelFunc
	stopped chan error
}

// Serve serves the tools of a server, and stops with the test.
func Serve(test testing.TB, server *backend.Server) *Backend {
	test.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(test, err)
	ctx, stop := context.WithCancel(context.Background())
	running := &Backend{Address: listener.Addr().String(), stop: stop, stopped: make(chan error, 1)}
	go func() { running.stopped <- server.Serve(ctx, listener) }()
	test.Cleanup(stop)
	return running
}

// Tell tells the backend to stop; Stopped gives how it did.
func (b *Backend) Tell() { b.stop() }

// Stopped waits until the backend has stopped.
func (b *Backend) Stopped(test testing.TB) error {
	test.Helper()
	select {
	case err := <-b.stopped:
		return err
	case <-time.After(patience):
		test.Fatal("the backend did not stop")
		return nil
	}
}

// Receive waits for a value.
func Receive[Value any](test testing.TB, from <-chan Value, what string) Value {
	test.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		test.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}
