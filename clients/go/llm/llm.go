// Package llm puts toolbatch's tools before a model, and runs the calls that it makes. It needs no SDK: what goes in and out is the JSON of the
// model's API.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/internal/jsontext"
)

// Format is the API of a model.
type Format string

// The APIs of models.
const (
	// Anthropic is the Messages API: tool_use and tool_result blocks.
	Anthropic Format = "anthropic"
	// OpenAI is the chat completions API: entries of tool_calls, and messages of role tool.
	OpenAI Format = "openai"
)

// Definitions gives the tools of the client's list, as the model's API takes them. Errors are those of toolbatch.Client.Tools, and one that names the
// tools whose names the API does not take: display names in the agent's list mend that.
func Definitions(ctx context.Context, client *toolbatch.Client, format Format) ([]json.RawMessage, error) {
	if err := format.check(); err != nil {
		return nil, err
	}
	tools, err := client.Tools(ctx)
	if err != nil {
		return nil, err
	}
	var misfits []error
	definitions := make([]json.RawMessage, len(tools))
	for place, tool := range tools {
		misfits = append(misfits, format.misfit(tool.Name))
		text, err := jsontext.Encode(format.definition(tool, objectSchema(tool.InputSchema)))
		if err != nil {
			return nil, fmt.Errorf("llm: the schema of tool %q: %w", tool.Name, err)
		}
		definitions[place] = json.RawMessage(text)
	}
	return definitions, errors.Join(misfits...)
}

// ToolCall runs a model's tool call, a tool_use block or an entry of tool_calls, in a task, and gives the tool_result block or the message of role tool
// that answers it. The call's id is its key, so making the same call again finds its outcome. A failed call is an answer, too. Errors are those
// of toolbatch.Client.CallTool, and one that says what is wrong with the call.
func ToolCall(ctx context.Context, client *toolbatch.Client, format Format, taskID string, call json.RawMessage) (json.RawMessage, error) {
	made, err := format.parse(call)
	if err != nil {
		return nil, err
	}
	outcome, err := client.CallTool(ctx, toolbatch.DirectCall{TaskID: taskID, Tool: made.tool, Args: made.args, Key: made.id})
	if err != nil {
		return nil, err
	}
	content, err := contentOf(ctx, client, outcome)
	if err != nil {
		return nil, err
	}
	text, err := jsontext.Encode(format.answer(made.id, content, outcome.Failure != nil))
	return json.RawMessage(text), err
}

// contentOf gives what the model reads of an outcome.
func contentOf(ctx context.Context, client *toolbatch.Client, outcome toolbatch.Outcome) (string, error) {
	switch {
	case outcome.Failure != nil:
		return outcome.Failure.Message, nil
	case outcome.AwaitID != "":
		return "waits for review " + outcome.AwaitID, nil
	case outcome.ResultOmitted:
		whole, err := client.StepResult(ctx, outcome.StepID)
		return string(whole), err
	case outcome.Result == "":
		return "null", nil
	}
	return string(outcome.Result), nil
}

func (f Format) check() error {
	if f != Anthropic && f != OpenAI {
		return fmt.Errorf("llm: format %q: expected %q or %q", string(f), Anthropic, OpenAI)
	}
	return nil
}

// made is a call that a model made.
type made struct {
	id, tool string
	args     toolbatch.JSON
}

func (f Format) parse(call json.RawMessage) (made, error) {
	if err := f.check(); err != nil {
		return made{}, err
	}
	var read made
	var err error
	if f == Anthropic {
		read, err = parseAnthropic(call)
	} else {
		read, err = parseOpenAI(call)
	}
	switch {
	case err != nil:
	case read.id == "":
		err = errors.New("expected an id, found none")
	case read.tool == "":
		err = errors.New("expected the name of a tool, found none")
	}
	if err != nil {
		return made{}, fmt.Errorf("llm: a tool call of %s: %w", f, err)
	}
	return read, nil
}

func (f Format) definition(tool toolbatch.Tool, schema any) any {
	if f == Anthropic {
		return anthropicTool{tool.Name, tool.Description, schema}
	}
	return openAITool{"function", openAIFunction{tool.Name, tool.Description, schema}}
}

func (f Format) answer(id, content string, failed bool) any {
	if f == Anthropic {
		return anthropicResult{"tool_result", id, content, failed}
	}
	return openAIMessage{"tool", id, content}
}
