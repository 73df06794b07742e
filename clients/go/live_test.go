package toolbatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/backend"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
)

// bench is a server, a backend with a few tools, and a client.
type bench struct {
	server *livetest.Server
	client *toolbatch.Client
	// held tells of each call of `hold`, which returns once open is closed.
	held chan uint32
	open chan struct{}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{held: make(chan uint32, 16), open: make(chan struct{})}
	b.server = livetest.Start(t, livetest.Setup{Backend: livetest.Serve(t, b.tools()).Address})
	b.client = dial(t, b.server.URL)
	return b
}

func (b *bench) tools() *backend.Server {
	tools := backend.New(backend.WithGrace(0))
	backend.Handle(tools, backend.Tool{Name: "echo"}, func(_ context.Context, _ *backend.Call, args json.RawMessage) (json.RawMessage, error) {
		return args, nil
	})
	backend.Handle(tools, backend.Tool{Name: "hold"}, func(ctx context.Context, call *backend.Call, _ struct{}) (map[string]any, error) {
		b.held <- call.Attempt
		select {
		case <-b.open:
			return map[string]any{"attempt": call.Attempt, "in_doubt": call.InDoubt}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	backend.Handle(tools, backend.Tool{Name: "large"}, func(_ context.Context, _ *backend.Call, args struct{ Bytes int }) (string, error) {
		return strings.Repeat("x", args.Bytes), nil
	})
	backend.Handle(tools, backend.Tool{Name: "fail"}, func(context.Context, *backend.Call, struct{}) (any, error) {
		return nil, backend.Fail("it is locked", backend.WithCode("LOCKED"))
	})
	return tools
}

func dial(t *testing.T, server string, options ...toolbatch.Option) *toolbatch.Client {
	t.Helper()
	client, err := toolbatch.Dial(server, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// collect gives all events of a stream, and fails where it is not whole.
func collect(t *testing.T, from uint64, events func(func(toolbatch.Event, error) bool)) []toolbatch.Event {
	t.Helper()
	var all []toolbatch.Event
	next := from + 1
	for event, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if sequence := event.About().Sequence; sequence > 0 {
			if sequence != next {
				t.Fatalf("expected sequence %d, found %d", next, sequence)
			}
			next++
		}
		all = append(all, event)
	}
	if _, ok := all[len(all)-1].(*toolbatch.BatchFinished); !ok {
		t.Fatalf("expected batch_finished last, found %T", all[len(all)-1])
	}
	return all
}

func summary(events []toolbatch.Event) toolbatch.Summary {
	return events[len(events)-1].(*toolbatch.BatchFinished).Summary
}

func as[Target error](t *testing.T, err error) Target {
	t.Helper()
	var target Target
	if !errors.As(err, &target) {
		t.Fatalf("expected a %T, found %v", target, err)
	}
	return target
}

func equal[Value comparable](t *testing.T, what string, found, expected Value) {
	t.Helper()
	if found != expected {
		t.Errorf("%s: expected %v, found %v", what, expected, found)
	}
}
