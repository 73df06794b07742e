package backend

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolbatch/toolbatch/clients/go/internal/jsontext"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
)

// Await is a result that waits for a person's review: the tool ran, its key counts as completed, and the batch stops. A function whose Out is any
// or Await returns it.
type Await struct {
	// ID names the review. Required.
	ID string
	// Result is what there is so far, written as results are; nil: null.
	Result any
}

// Failure is a definite failure: the tool knows that it did not do what it was asked.
type Failure struct {
	// Message is for people and models. Kept up to 64 KiB; events show 2 KiB.
	Message string
	// Code is the tool's own, for programs.
	Code string
	// Retryable: a repeat can succeed, and this attempt changed nothing.
	Retryable bool
}

// Error gives the message.
func (f *Failure) Error() string { return f.Message }

// FailOption adds to a failure.
type FailOption func(*Failure)

// WithCode gives a failure the tool's own code, for programs.
func WithCode(code string) FailOption { return func(f *Failure) { f.Code = code } }

// Retryable says that a repeat can succeed, and that this attempt changed nothing.
func Retryable(f *Failure) { f.Retryable = true }

// Fail gives the error that a function returns for a definite failure, also where another error wraps it.
func Fail(message string, options ...FailOption) error {
	failure := &Failure{Message: message}
	for _, option := range options {
		option(failure)
	}
	return failure
}

// Fate is what became of an earlier attempt: Landed, LandedFailure, NotLanded or Unknown.
type Fate struct {
	landed    bool
	notLanded bool
	result    any
	failure   *Failure
}

// Landed says that it took effect, with this result, which may be an Await.
func Landed(result any) Fate { return Fate{landed: true, result: result} }

// LandedFailure says that it failed, so.
func LandedFailure(message string, options ...FailOption) Fate {
	failure := &Failure{Message: message}
	for _, option := range options {
		option(failure)
	}
	return Fate{landed: true, failure: failure}
}

// NotLanded says that it never took effect and never will: running it is safe.
func NotLanded() Fate { return Fate{notLanded: true} }

// Unknown says that the tool cannot tell.
func Unknown() Fate { return Fate{} }

// response writes what a function returned. An error is one that says nothing certain.
func response(result any, err error) (*toolbatchv1.CallToolResponse, error) {
	if failure := (*Failure)(nil); errors.As(err, &failure) {
		return &toolbatchv1.CallToolResponse{Outcome: &toolbatchv1.CallToolResponse_Failure{Failure: &toolbatchv1.ToolFailure{
			Message: plain(failure.Message), Code: plain(failure.Code), Retryable: failure.Retryable,
		}}}, nil
	} else if err != nil {
		return nil, err
	}
	if pointer, ok := result.(*Await); ok && pointer != nil {
		result = *pointer
	}
	if await, ok := result.(Await); ok {
		text, err := jsontext.Encode(await.Result)
		if err != nil {
			return nil, fmt.Errorf("the result of review %q: %w", await.ID, err)
		}
		return &toolbatchv1.CallToolResponse{Outcome: &toolbatchv1.CallToolResponse_Awaiting{Awaiting: &toolbatchv1.ToolAwaiting{
			AwaitId: plain(await.ID), ResultJson: text,
		}}}, nil
	}
	text, err := jsontext.Encode(result)
	if err != nil {
		return nil, fmt.Errorf("the result: %w", err)
	}
	return &toolbatchv1.CallToolResponse{Outcome: &toolbatchv1.CallToolResponse_ResultJson{ResultJson: text}}, nil
}

// response writes a fate.
func (f Fate) response() (*toolbatchv1.LookupCallResponse, error) {
	switch {
	case f.landed:
		var failed error
		if f.failure != nil {
			failed = f.failure
		}
		landed, err := response(f.result, failed)
		return &toolbatchv1.LookupCallResponse{Fate: &toolbatchv1.LookupCallResponse_Landed{Landed: landed}}, err
	case f.notLanded:
		return &toolbatchv1.LookupCallResponse{Fate: &toolbatchv1.LookupCallResponse_NotLanded_{NotLanded: &toolbatchv1.LookupCallResponse_NotLanded{}}}, nil
	}
	return &toolbatchv1.LookupCallResponse{Fate: &toolbatchv1.LookupCallResponse_Unknown_{Unknown: &toolbatchv1.LookupCallResponse_Unknown{}}}, nil
}

// plain gives text as gRPC can carry it: what is no UTF-8 in it becomes U+FFFD.
func plain(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
