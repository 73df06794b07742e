package backend_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/backend"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
)

// buffer is a log that a test may read while it is written.
type buffer struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (b *buffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

func quiet() backend.Option {
	return backend.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
}

// connect starts a server before a backend, and gives a client.
func connect(t *testing.T, tools *backend.Server) *toolbatch.Client {
	t.Helper()
	server := livetest.Start(t, livetest.Setup{Backend: livetest.Serve(t, tools).Address})
	client, err := toolbatch.Dial(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// call runs one call as a batch, and gives its result and the progress that it made.
func call(t *testing.T, client *toolbatch.Client, tool string, args any, options toolbatch.Batch) (toolbatch.CallResult, []*toolbatch.CallProgress) {
	t.Helper()
	options.TaskID, options.Calls = "T", []toolbatch.Call{{Tool: tool, Args: args, Key: t.Name() + tool}}
	var progress []*toolbatch.CallProgress
	for event, err := range client.Run(t.Context(), options) {
		if err != nil {
			t.Fatal(err)
		}
		switch event := event.(type) {
		case *toolbatch.CallProgress:
			progress = append(progress, event)
		case *toolbatch.BatchFinished:
			return event.Summary.Results[0], progress
		}
	}
	t.Fatal("the batch has no end")
	return toolbatch.CallResult{}, nil
}

func equal[Value comparable](t *testing.T, what string, found, expected Value) {
	t.Helper()
	if found != expected {
		t.Errorf("%s: expected %v, found %v", what, expected, found)
	}
}

func TestOutcomesOfEachKind(t *testing.T) {
	log := &buffer{}
	tools := backend.New(backend.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	type in struct {
		Name  string
		Count *int
	}
	backend.Handle(tools, backend.Tool{Name: "greet"}, func(_ context.Context, call *backend.Call, args in) (map[string]any, error) {
		return map[string]any{"greeting": "Hello, <" + args.Name + ">", "attempt": call.Attempt, "task": call.TaskID}, nil
	})
	backend.Handle(tools, backend.Tool{Name: "raw"}, func(_ context.Context, _ *backend.Call, args json.RawMessage) (json.RawMessage, error) {
		return args, nil
	})
	backend.Handle(tools, backend.Tool{Name: "nothing"}, func(context.Context, *backend.Call, struct{}) (any, error) { return nil, nil })
	backend.Handle(tools, backend.Tool{Name: "fail"}, func(context.Context, *backend.Call, struct{}) (any, error) {
		return nil, fmt.Errorf("posting: %w", backend.Fail("it is locked", backend.WithCode("LOCKED"), backend.Retryable))
	})
	backend.Handle(tools, backend.Tool{Name: "crash"}, func(context.Context, *backend.Call, struct{}) (any, error) {
		return nil, errors.New("a secret")
	})
	backend.Handle(tools, backend.Tool{Name: "panic"}, func(context.Context, *backend.Call, struct{}) (any, error) { panic("another secret") })
	backend.Handle(tools, backend.Tool{Name: "unwritable"}, func(context.Context, *backend.Call, struct{}) (any, error) { return func() {}, nil })
	backend.Handle(tools, backend.Tool{Name: "review"}, func(context.Context, *backend.Call, struct{}) (any, error) {
		return backend.Await{ID: "r-1", Result: "draft"}, nil
	})
	client := connect(t, tools)

	greeted, _ := call(t, client, "greet", map[string]any{"name": "Ada"}, toolbatch.Batch{})
	equal(t, "greet", greeted.Result, `{"attempt":1,"greeting":"Hello, <Ada>","task":"T"}`)
	raw, _ := call(t, client, "raw", json.RawMessage(`{ "z": 1.0 }`), toolbatch.Batch{})
	equal(t, "raw", raw.Result, `{ "z": 1.0 }`)
	nothing, _ := call(t, client, "nothing", nil, toolbatch.Batch{})
	equal(t, "nothing", nothing.Result, "null")
	failed, _ := call(t, client, "fail", nil, toolbatch.Batch{})
	equal(t, "fail", *failed.Error, toolbatch.CallError{Reason: toolbatch.ReasonToolFailed, Message: "it is locked", Retryable: true, Code: "LOCKED"})
	reviewed, _ := call(t, client, "review", nil, toolbatch.Batch{})
	equal(t, "review", reviewed.AwaitID+string(reviewed.Result), `r-1"draft"`)
	unfit, _ := call(t, client, "greet", map[string]any{"name": 7}, toolbatch.Batch{BatchID: "unfit"})
	if unfit.Status != toolbatch.CallSkipped {
		t.Errorf("expected the key to be done, found %v", unfit.Status)
	}
	refused, err := client.CallTool(t.Context(), toolbatch.DirectCall{TaskID: "T", Tool: "greet", Args: map[string]any{"name": 7}})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "code", refused.Failure.Code, "INVALID_ARGS")
	equal(t, "outcome unknown", refused.OutcomeUnknown, false)
	for tool, secret := range map[string]string{"crash": "a secret", "panic": "another secret", "unwritable": "unsupported type"} {
		crashed, _ := call(t, client, tool, nil, toolbatch.Batch{})
		equal(t, tool, crashed.Error.OutcomeUnknown, true)
		if strings.Contains(crashed.Error.Message, secret) || !strings.Contains(log.String(), secret) {
			t.Errorf("%s: expected %q in the log alone, found %q", tool, secret, crashed.Error.Message)
		}
	}
}

func TestProgressUsageAndLookup(t *testing.T) {
	tools := backend.New(quiet())
	backend.Handle(tools, backend.Tool{Name: "count", ReportsProgress: true, Description: "counts", Timeout: time.Minute},
		func(_ context.Context, call *backend.Call, _ struct{}) (int, error) {
			call.Progress(1, 2, "one")
			call.Progress(2, 2, "two")
			call.Usage("pages", 2.5)
			go call.Progress(3, 2, "too late")
			return 2, nil
		})
	var landed sync.Map
	backend.Handle(tools, backend.Tool{Name: "post", Lookup: func(_ context.Context, call *backend.Call) (backend.Fate, error) {
		if _, found := landed.Load(call.IdempotencyKey); found {
			return backend.Landed("found"), nil
		}
		return backend.NotLanded(), nil
	}}, func(_ context.Context, call *backend.Call, _ struct{}) (string, error) {
		landed.Store(call.IdempotencyKey, true)
		return "", errors.New("the answer got lost")
	})
	client := connect(t, tools)
	counted, progress := call(t, client, "count", nil, toolbatch.Batch{})
	equal(t, "result", counted.Result, "2")
	equal(t, "progress", len(progress) >= 2 && progress[1].Message == "two" && progress[1].Total == 2, true)
	posted, _ := call(t, client, "post", nil, toolbatch.Batch{InDoubt: toolbatch.InDoubtLookup})
	equal(t, "looked up", posted.Result, `"found"`)
	rows, err := client.Usage(t.Context(), "T")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "usage", fmt.Sprint(rows[0].Unit, rows[0].Quantity), "pages2.5")
	listed, err := client.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "tool", listed[0], toolbatch.Tool{Name: "count", Description: "counts", ReportsProgress: true, Timeout: time.Minute})
}

func TestToolsThatCannotBeServedAreNamed(t *testing.T) {
	tools := backend.New(quiet())
	add := func(tool backend.Tool) {
		backend.Handle(tools, tool, func(context.Context, *backend.Call, struct{}) (any, error) { return nil, nil })
	}
	add(backend.Tool{Name: ""})
	add(backend.Tool{Name: "two  blanks"})
	add(backend.Tool{Name: "é"})
	add(backend.Tool{Name: "twice"})
	add(backend.Tool{Name: "twice"})
	add(backend.Tool{Name: "schema", InputSchema: "{"})
	add(backend.Tool{Name: "list", InputSchema: "[]"})
	add(backend.Tool{Name: "timeout", Timeout: -1})
	add(backend.Tool{Name: "words", Description: "\xff"})
	err := livetest.Serve(t, tools).Stopped(t)
	for _, words := range []string{"8 tools", `"": name`, `"two  blanks": name`, `"é": name`, `"twice": expected each name once`, `"schema": InputSchema`, `"list": InputSchema`, `"timeout": Timeout`, `"words": Description`} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("expected an error with %q, found %v", words, err)
		}
	}
}
