package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/backend"
)

const anyObject = `{"type":"object"}`

// serve serves the suite's tools until it is told to stop.
func serve(address string, output io.Writer) error {
	server := backend.New(backend.WithListening(func(net.Addr) { fmt.Fprintln(output, "listening") }))
	echoes(server)
	outcomes(server)
	reports(server)
	gates(server)
	return server.ListenAndServe(context.Background(), address)
}

// echoes are the tools that give back what they got.
func echoes(server *backend.Server) {
	backend.Handle(server, backend.Tool{Name: "echo", InputSchema: anyObject},
		func(_ context.Context, _ *backend.Call, args json.RawMessage) (json.RawMessage, error) {
			return args, nil
		})
	backend.Handle(server, backend.Tool{Name: "native", InputSchema: anyObject},
		func(_ context.Context, _ *backend.Call, args toolbatch.Object) (toolbatch.Object, error) {
			return args, nil
		})
	type order struct {
		Contract string `json:"contract"`
		Quantity *int64 `json:"quantity"`
	}
	type posted struct {
		Posted   string `json:"posted"`
		Quantity int64  `json:"quantity"`
	}
	backend.Handle(server, backend.Tool{
		Name: "post_order",
		InputSchema: `{"type":"object","properties":{"contract":{"type":"string"},"quantity":{"type":"integer","minimum":1}},` +
			`"required":["contract"],"additionalProperties":false}`,
	}, func(_ context.Context, _ *backend.Call, args order) (posted, error) {
		if args.Quantity == nil {
			args.Quantity = new(int64(1))
		}
		return posted{args.Contract, *args.Quantity}, nil
	})
	backend.Handle(server, backend.Tool{Name: "context", InputSchema: anyObject},
		func(_ context.Context, call *backend.Call, _ json.RawMessage) (map[string]any, error) {
			return map[string]any{
				"task_id": call.TaskID, "agent_id": call.AgentID, "key": call.Key, "batch_id": call.BatchID, "step_id": call.StepID,
				"index": call.Index, "attempt": call.Attempt, "idempotency_key": call.IdempotencyKey, "in_doubt": call.InDoubt,
			}, nil
		})
}

// outcomes are the tools with an outcome of each kind.
func outcomes(server *backend.Server) {
	type failing struct {
		Message   string `json:"message"`
		Code      string `json:"code"`
		Retryable bool   `json:"retryable"`
		Times     *int64 `json:"times"`
	}
	backend.Handle(server, backend.Tool{
		Name: "fail",
		InputSchema: `{"type":"object","properties":{"message":{"type":"string"},"code":{"type":"string"},"retryable":{"type":"boolean"},` +
			`"times":{"type":"integer"}},"required":["message"]}`,
	}, func(_ context.Context, call *backend.Call, args failing) (map[string]any, error) {
		if args.Times != nil && int64(call.Attempt) > *args.Times {
			return map[string]any{"attempt": call.Attempt}, nil
		}
		options := []backend.FailOption{backend.WithCode(args.Code)}
		if args.Retryable {
			options = append(options, backend.Retryable)
		}
		return nil, backend.Fail(args.Message, options...)
	})
	backend.Handle(server, backend.Tool{Name: "crash", InputSchema: anyObject},
		func(context.Context, *backend.Call, struct{}) (any, error) {
			return nil, errors.New("the tool's own secret")
		})
	backend.Handle(server, backend.Tool{Name: "review", InputSchema: `{"type":"object","properties":{"await_id":{"type":"string"}}}`},
		func(_ context.Context, _ *backend.Call, args struct {
			AwaitID string `json:"await_id"`
		}) (backend.Await, error) {
			return backend.Await{ID: args.AwaitID, Result: map[string]bool{"draft": true}}, nil
		})
	backend.Handle(server, backend.Tool{Name: "large", InputSchema: `{"type":"object","properties":{"bytes":{"type":"integer"}}}`},
		func(_ context.Context, _ *backend.Call, args struct{ Bytes int }) (string, error) {
			return strings.Repeat("x", args.Bytes), nil
		})
}

// reports are the tools that tell more than a result.
func reports(server *backend.Server) {
	backend.Handle(server, backend.Tool{
		Name: "count", InputSchema: `{"type":"object","properties":{"to":{"type":"integer"}}}`, ReportsProgress: true,
	}, func(_ context.Context, call *backend.Call, args struct{ To int }) (map[string]int, error) {
		for done := 1; done <= args.To; done++ {
			call.Progress(float64(done), float64(args.To), fmt.Sprintf("%d of %d", done, args.To))
		}
		return map[string]int{"counted": args.To}, nil
	})
	backend.Handle(server, backend.Tool{
		Name: "meter", InputSchema: `{"type":"object","properties":{"unit":{"type":"string"},"quantity":{"type":"number"}}}`,
	}, func(_ context.Context, call *backend.Call, args struct {
		Unit     string
		Quantity float64
	}) (any, error) {
		call.Usage(args.Unit, args.Quantity)
		return nil, nil
	})
}

// gates are the tools that wait for a file.
func gates(server *backend.Server) {
	const schema = `{"type":"object","properties":{"gate":{"type":"string"}}}`
	type gated struct{ Gate string }
	hold := func(ctx context.Context, call *backend.Call, args gated) (map[string]any, error) {
		if err := pass(ctx, args.Gate); err != nil {
			return nil, err
		}
		return map[string]any{"attempt": call.Attempt, "in_doubt": call.InDoubt}, nil
	}
	backend.Handle(server, backend.Tool{Name: "hold", InputSchema: schema}, hold)
	backend.Handle(server, backend.Tool{Name: "wait", InputSchema: schema, Pauses: true}, hold)

	var noted sync.Map
	backend.Handle(server, backend.Tool{
		Name:        "ledger",
		InputSchema: `{"type":"object","properties":{"entry":{"type":"string"},"gate":{"type":"string"}},"required":["entry"]}`,
		Lookup: func(_ context.Context, call *backend.Call) (backend.Fate, error) {
			entry, found := noted.Load(call.IdempotencyKey)
			if !found {
				return backend.NotLanded(), nil
			}
			return backend.Landed(map[string]any{"entry": entry, "looked_up": true}), nil
		},
	}, func(ctx context.Context, call *backend.Call, args struct{ Entry, Gate string }) (map[string]string, error) {
		noted.Store(call.IdempotencyKey, args.Entry)
		if args.Gate != "" {
			if err := pass(ctx, args.Gate); err != nil {
				return nil, err
			}
		}
		return map[string]string{"entry": args.Entry}, nil
	})
}

// pass says that it waits at a gate, and waits until it is open.
func pass(ctx context.Context, gate string) error {
	if err := os.WriteFile(gate+".held", nil, 0o600); err != nil {
		return err
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := os.Stat(gate); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
	}
}
