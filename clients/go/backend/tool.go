package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/internal/jsontext"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// maxNameBytes is the longest name of a tool that toolbatch takes.
const maxNameBytes = 256

// Tool declares a tool.
type Tool struct {
	// Name is what calls name: 1 to 256 printable ASCII characters, single blanks inside at most. Required.
	Name string
	// Description is for models and people.
	Description string
	// InputSchema is the JSON Schema of the args, as JSON text; empty: any object. Toolbatch checks args against it before it calls.
	InputSchema string
	// Pauses: it can stop an agent or wait for a person, so no batch may call it.
	Pauses bool
	// ReportsProgress has Call.Progress reach those who follow the batch.
	ReportsProgress bool
	// Timeout bounds one attempt where the batch sets none; 0: the server's bound.
	Timeout time.Duration
	// Lookup tells what became of an earlier attempt, named by call.IdempotencyKey. It changes nothing. nil: the tool cannot tell.
	Lookup func(ctx context.Context, call *Call) (Fate, error)
}

// Handle has a function serve a tool. Its args are read as encoding/json does, with numbers of any size in interfaces as json.Number; In may be
// json.RawMessage or toolbatch.JSON for the text itself, byte for byte. Args that In cannot hold are a definite failure with the code INVALID_ARGS; the function
// is not called then.
//
// What it returns is the result: any value that encoding/json writes, a json.RawMessage or toolbatch.JSON byte for byte, or an Await. The error of
// Fail is a definite failure. Any other error, and a panic, says nothing certain: it is logged and not sent, and the call counts as outcome
// unknown. The context ends when the call is cancelled or its time is over.
//
// A tool that cannot be served, as its name or schema is wrong or another has the name, is an error of Serve.
func Handle[In, Out any](server *Server, tool Tool, function func(ctx context.Context, call *Call, args In) (Out, error)) {
	server.add(tool, func(ctx context.Context, call *Call) (any, error) {
		var args In
		switch target := any(&args).(type) {
		case *json.RawMessage:
			*target = call.Args.RawMessage()
		case *toolbatch.JSON:
			*target = call.Args
		default:
			if err := call.Args.Decode(target); err != nil {
				return nil, Fail(fmt.Sprintf("args of %s: %s", tool.Name, err), WithCode("INVALID_ARGS"))
			}
		}
		return function(ctx, call, args)
	})
}

// handler is a function that serves a tool, whatever its types.
type handler func(ctx context.Context, call *Call) (any, error)

type served struct {
	tool   Tool
	handle handler
}

// check gives what is wrong with a tool.
func (t Tool) check() error {
	if err := checkName(t.Name); err != nil {
		return fmt.Errorf("tool %q: name: %w", t.Name, err)
	}
	for field, text := range map[string]string{"Description": t.Description, "InputSchema": t.InputSchema} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("tool %q: %s: expected UTF-8, found %q", t.Name, field, text)
		}
	}
	if t.InputSchema != "" {
		var schema any
		if err := jsontext.Decode(t.InputSchema, &schema); err != nil {
			return fmt.Errorf("tool %q: InputSchema: expected a JSON Schema as JSON text: %w", t.Name, err)
		}
		switch schema.(type) {
		case map[string]any, bool:
		default:
			return fmt.Errorf("tool %q: InputSchema: expected a JSON Schema, an object, found %s", t.Name, t.InputSchema)
		}
	}
	if t.Timeout < 0 {
		return fmt.Errorf("tool %q: Timeout: expected 0 or more, found %s", t.Name, t.Timeout)
	}
	return nil
}

func checkName(name string) error {
	if name == "" || len(name) > maxNameBytes {
		return fmt.Errorf("expected 1 to %d characters, found %d", maxNameBytes, len(name))
	}
	for at := range len(name) {
		blank := name[at] == ' '
		switch {
		case name[at] < ' ' || name[at] > '~':
			return fmt.Errorf("expected printable ASCII characters, found %q", name[at])
		case blank && (at == 0 || at == len(name)-1 || name[at-1] == ' '):
			return errors.New("expected single blanks inside at most")
		}
	}
	return nil
}

func (t Tool) proto() *toolbatchv1.Tool {
	tool := &toolbatchv1.Tool{
		Name: t.Name, Description: t.Description, InputSchemaJson: t.InputSchema, Pauses: t.Pauses, ReportsProgress: t.ReportsProgress,
	}
	if t.Timeout > 0 {
		tool.Timeout = durationpb.New(t.Timeout)
	}
	return tool
}
