package llm_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/backend"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
	"github.com/toolbatch/toolbatch/clients/go/llm"
)

func connect(t *testing.T, names ...string) *toolbatch.Client {
	t.Helper()
	tools := backend.New()
	backend.Handle(tools, backend.Tool{Name: "echo", Description: "gives <it> back"},
		func(_ context.Context, _ *backend.Call, args json.RawMessage) (json.RawMessage, error) {
			return args, nil
		})
	backend.Handle(tools, backend.Tool{Name: "fail"}, func(context.Context, *backend.Call, struct{}) (any, error) { return nil, backend.Fail("no <luck>") })
	backend.Handle(tools, backend.Tool{Name: "review"}, func(context.Context, *backend.Call, struct{}) (backend.Await, error) {
		return backend.Await{ID: "r-1"}, nil
	})
	backend.Handle(tools, backend.Tool{Name: "large"}, func(context.Context, *backend.Call, struct{}) (string, error) {
		return strings.Repeat("x", 4<<20), nil
	})
	for _, name := range names {
		backend.Handle(tools, backend.Tool{Name: name}, func(context.Context, *backend.Call, struct{}) (any, error) { return nil, nil })
	}
	server := livetest.Start(t, livetest.Setup{Backend: livetest.Serve(t, tools).Address})
	client, err := toolbatch.Dial(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestDefinitionsAreThoseOfTheAPI(t *testing.T) {
	client := connect(t)
	for format, expected := range map[llm.Format]string{
		llm.Anthropic: `{"name":"echo","description":"gives <it> back","input_schema":{"type":"object","properties":{}}}`,
		llm.OpenAI:    `{"type":"function","function":{"name":"echo","description":"gives <it> back","parameters":{"type":"object","properties":{}}}}`,
	} {
		definitions, err := llm.Definitions(t.Context(), client, format)
		if err != nil {
			t.Fatal(err)
		}
		if string(definitions[0]) != expected {
			t.Errorf("%s: expected %s, found %s", format, expected, definitions[0])
		}
	}
	if _, err := llm.Definitions(t.Context(), client, "other"); err == nil || !strings.Contains(err.Error(), `expected "anthropic" or "openai"`) {
		t.Errorf("expected an error that names the formats, found %v", err)
	}
}

func TestNamesThatAnAPIDoesNotTakeAreNamed(t *testing.T) {
	if _, err := llm.Definitions(t.Context(), connect(t, "post order"), llm.OpenAI); err == nil || !strings.Contains(err.Error(), `"post order"`) {
		t.Errorf("expected an error that names the tool, found %v", err)
	}
}

func TestToolCallsAreAnswered(t *testing.T) {
	client := connect(t)
	for _, each := range []struct {
		format         llm.Format
		call, expected string
	}{
		{llm.Anthropic, `{"type":"tool_use","id":"a-1","name":"echo","input":{ "n": 1.0 }}`, `{"type":"tool_result","tool_use_id":"a-1","content":"{ \"n\": 1.0 }"}`},
		{llm.Anthropic, `{"type":"tool_use","id":"a-2","name":"fail","input":{}}`, `{"type":"tool_result","tool_use_id":"a-2","content":"no <luck>","is_error":true}`},
		{llm.Anthropic, `{"type":"tool_use","id":"a-3","name":"review","input":{}}`, `{"type":"tool_result","tool_use_id":"a-3","content":"waits for review r-1"}`},
		{llm.OpenAI, `{"type":"function","id":"o-1","function":{"name":"echo","arguments":"{ \"n\": 1.0 }"}}`, `{"role":"tool","tool_call_id":"o-1","content":"{ \"n\": 1.0 }"}`},
		{llm.OpenAI, `{"type":"function","id":"o-2","function":{"name":"fail","arguments":""}}`, `{"role":"tool","tool_call_id":"o-2","content":"no <luck>"}`},
	} {
		for range 2 { // The second time the key finds what was done.
			answer, err := llm.ToolCall(t.Context(), client, each.format, "T", json.RawMessage(each.call))
			if err != nil {
				t.Fatal(err)
			}
			if string(answer) != each.expected {
				t.Errorf("expected %s, found %s", each.expected, answer)
			}
		}
	}
	answer, err := llm.ToolCall(t.Context(), client, llm.OpenAI, "T", json.RawMessage(`{"id":"o-3","function":{"name":"large","arguments":"{}"}}`))
	if err != nil || len(answer) < 4<<20 {
		t.Errorf("expected the whole result, found %d bytes, %v", len(answer), err)
	}
}

func TestCallsThatAreNoneAreRefused(t *testing.T) {
	client := connect(t)
	for call, words := range map[string]string{
		`{`:                              "tool call of anthropic",
		`{"type":"text"}`:                `found "text"`,
		`{"type":"tool_use","name":"a"}`: "expected an id",
		`{"type":"tool_use","id":"a"}`:   "the name of a tool",
	} {
		if _, err := llm.ToolCall(t.Context(), client, llm.Anthropic, "T", json.RawMessage(call)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: expected an error with %q, found %v", call, words, err)
		}
	}
	if _, err := llm.ToolCall(t.Context(), client, llm.OpenAI, "T", json.RawMessage(`{"type":"custom"}`)); err == nil {
		t.Error("expected an error for a type that is not known")
	}
}
