package toolbatch

import (
	"context"
	"fmt"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
)

// DirectCall is one call that is no part of a batch.
type DirectCall struct {
	// TaskID is the task that it is made in. Required.
	TaskID string
	// Tool, Args and Key are those of a Call. With a key the call is repeatable: once it is completed, its outcome is given again.
	Tool string
	Args any
	Key  string
}

// Outcome is what came of a direct call: a result, a failure or a review that is waited for.
type Outcome struct {
	// Result is the result's text, byte for byte; with AwaitID what there is so far.
	Result JSON
	// Failure is set where the call failed.
	Failure *Failure
	// AwaitID names the review that is waited for.
	AwaitID string
	// StepID is the step that records the call.
	StepID string
	// Variable holds the result, for references.
	Variable string
	// Skipped: the key was completed before, and this is that call's outcome.
	Skipped bool
	// ArgsChanged: tool or args differ from those that the key ran with.
	ArgsChanged bool
	// ResultOmitted: the result is over 3 MiB; Client.StepResult reads it.
	ResultOmitted bool
	// OutcomeUnknown: the call failed, and may have taken effect.
	OutcomeUnknown bool
}

// Failure is a definite failure of a tool, or of a rule that it broke.
type Failure struct {
	// Message is for people and models.
	Message string
	// Code is for programs.
	Code string
	// Retryable: a repeat can succeed, and nothing was changed.
	Retryable bool
}

// CallTool runs one tool as a direct step of a task. A failed call is no error. It is not repeated by itself; with a key a repeat is safe.
// Errors: *RefusedError, *UnavailableError, the context's, ErrClosed.
func (c *Client) CallTool(ctx context.Context, call DirectCall) (Outcome, error) {
	args, err := argsText(call.Args)
	if err != nil {
		return Outcome{}, fmt.Errorf("toolbatch: CallTool: Args of %q: %w", call.Tool, err)
	}
	response, err := c.tools.CallTool(ctx, &toolbatchv1.CallToolRequest{
		Tool: call.Tool, ArgsJson: args, Context: &toolbatchv1.CallContext{TaskId: call.TaskID, Key: call.Key},
	})
	if err != nil {
		return Outcome{}, c.once(ctx, err)
	}
	outcome := Outcome{
		StepID: response.GetStepId(), Variable: response.GetVariable(), Skipped: response.GetSkipped(), ArgsChanged: response.GetArgsChanged(),
		ResultOmitted: response.GetResultOmitted(), OutcomeUnknown: response.GetOutcomeUnknown(),
	}
	switch kind := response.GetOutcome().(type) {
	case *toolbatchv1.CallToolResponse_ResultJson:
		outcome.Result = JSON(kind.ResultJson)
	case *toolbatchv1.CallToolResponse_Failure:
		outcome.Failure = &Failure{Message: kind.Failure.GetMessage(), Code: kind.Failure.GetCode(), Retryable: kind.Failure.GetRetryable()}
	case *toolbatchv1.CallToolResponse_Awaiting:
		outcome.AwaitID, outcome.Result = kind.Awaiting.GetAwaitId(), JSON(kind.Awaiting.GetResultJson())
	default:
		return outcome, fmt.Errorf("toolbatch: CallTool: the answer of %q, step %s, holds no outcome that this version knows", call.Tool, outcome.StepID)
	}
	return outcome, nil
}
