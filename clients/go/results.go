package toolbatch

import (
	"time"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Summary is how a batch went, or goes. The counts of a finished one add up to Total.
type Summary struct {
	// Status is BatchRunning, or which end it was.
	Status BatchStatus
	// Total is how many calls the batch has.
	Total uint32
	// Succeeded, Failed, Skipped, Awaiting and NotRun count the calls by their end.
	Succeeded, Failed, Skipped, Awaiting, NotRun uint32
	// StopReason is why calls were left out; 0 where none was.
	StopReason StopReason
	// Results has one entry per call, by index; while the batch runs, those that are known.
	Results []CallResult
}

// CallResult is what became of one call.
type CallResult struct {
	// Index is the call's place in the list, from 0.
	Index uint32
	// Tool and Key are those of the request.
	Tool, Key string
	// Status is which end it was.
	Status CallStatus
	// StepID is the step with the full record; of a skipped call, the one that ran it. Empty where it was not run.
	StepID string
	// Duration is from the first attempt to the end, backoff included.
	Duration time.Duration
	// Result is the result's text, byte for byte, where it is inlined: under 4 KiB.
	Result JSON
	// ResultOmitted: there is a result, to be read by Client.StepResult.
	ResultOmitted bool
	// Error is set on a failed call.
	Error *CallError
	// AwaitID names the review that an awaiting call waits for.
	AwaitID string
	// Attempts is how often it was sent.
	Attempts uint32
	// ArgsChanged: a skipped call whose tool or args differ from those that its key ran with; no result is given then.
	ArgsChanged bool
}

// CallError is how a call failed.
type CallError struct {
	// Reason is the kind of failure.
	Reason ErrorReason
	// Message is for people and models; in events cut at 2 KiB.
	Message string
	// OutcomeUnknown: it may have taken effect.
	OutcomeUnknown bool
	// Retryable: a repeat can succeed, and this attempt changed nothing.
	Retryable bool
	// Code is the tool's own.
	Code string
}

// PlannedCall is what one call would do.
type PlannedCall struct {
	// Index is the call's place in the list, from 0.
	Index uint32
	// Tool is as the request names it, BaseTool what that resolved to, Backend who serves it.
	Tool, BaseTool, Backend string
	// Key is the call's key.
	Key string
	// Lane: calls that share a non-empty one run one at a time, in order.
	Lane string
	// SkippedStepID is set where the key is completed: the step that did it.
	SkippedStepID string
	// Error is set where the call would fail before it reaches a tool.
	Error *CallError
}

func summaryOf(summary *toolbatchv1.BatchSummary) Summary {
	return Summary{
		Status:     BatchStatus(summary.GetStatus()),
		Total:      summary.GetTotal(),
		Succeeded:  summary.GetSucceeded(),
		Failed:     summary.GetFailed(),
		Skipped:    summary.GetSkipped(),
		Awaiting:   summary.GetAwaiting(),
		NotRun:     summary.GetNotRun(),
		StopReason: StopReason(summary.GetStopReason()),
		Results:    each(summary.GetResults(), callResultOf),
	}
}

func callResultOf(result *toolbatchv1.CallResult) CallResult {
	return CallResult{
		Index:         result.GetIndex(),
		Tool:          result.GetTool(),
		Key:           result.GetKey(),
		Status:        CallStatus(result.GetStatus()),
		StepID:        result.GetStepId(),
		Duration:      result.GetDuration().AsDuration(),
		Result:        JSON(result.GetResultJson()),
		ResultOmitted: result.GetResultOmitted(),
		Error:         callErrorOf(result.GetError()),
		AwaitID:       result.GetAwaitId(),
		Attempts:      result.GetAttempts(),
		ArgsChanged:   result.GetArgsChanged(),
	}
}

func callErrorOf(failure *toolbatchv1.CallError) *CallError {
	if failure == nil {
		return nil
	}
	return &CallError{
		Reason:         ErrorReason(failure.GetReason()),
		Message:        failure.GetMessage(),
		OutcomeUnknown: failure.GetOutcomeUnknown(),
		Retryable:      failure.GetRetryable(),
		Code:           failure.GetCode(),
	}
}

func plannedCallOf(call *toolbatchv1.PlannedCall) PlannedCall {
	return PlannedCall{
		Index:         call.GetIndex(),
		Tool:          call.GetTool(),
		BaseTool:      call.GetBaseTool(),
		Backend:       call.GetBackend(),
		Key:           call.GetKey(),
		Lane:          call.GetLane(),
		SkippedStepID: call.GetSkippedStepId(),
		Error:         callErrorOf(call.GetError()),
	}
}

// timeOf gives the zero time where there is none.
func timeOf(stamp *timestamppb.Timestamp) time.Time {
	if stamp == nil {
		return time.Time{}
	}
	return stamp.AsTime()
}

// each translates the entries of a list; nil where it is empty.
func each[From, To any](list []From, translate func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	translated := make([]To, len(list))
	for place, entry := range list {
		translated[place] = translate(entry)
	}
	return translated
}
