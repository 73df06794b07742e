package toolbatch

import (
	"time"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
)

// Event is one entry of a batch's log: *BatchPlanned, *BatchStarted, *CallStarted, *CallRetrying, *CallProgress, *CallFinished, *BatchResumed or
// *BatchFinished. Kinds that a newer server may send beside them are passed over.
type Event interface {
	// About gives what all events have.
	About() EventHeader
}

// EventHeader is what all events have.
type EventHeader struct {
	// BatchID is the batch.
	BatchID string
	// Sequence counts the batch's events from 1, without gaps. 0 for BatchPlanned and CallProgress, which are no part of the log.
	Sequence uint64
	// Time is when it was recorded, by the server's clock.
	Time time.Time
}

// About gives the header itself.
func (h EventHeader) About() EventHeader { return h }

// BatchPlanned answers ValidateOnly, and is the only event then.
type BatchPlanned struct {
	EventHeader
	// Calls has one entry per call.
	Calls []PlannedCall
}

// BatchStarted is the first event of a batch: it was accepted, and runs to its end whatever becomes of the client.
type BatchStarted struct {
	EventHeader
	// TaskID and AgentID are those that the batch runs in and acts for.
	TaskID, AgentID string
	// Total is how many calls the batch has.
	Total uint32
	// Options are those in force, with their defaults.
	Options Options
}

// CallStarted is an attempt of a call about to leave.
type CallStarted struct {
	EventHeader
	// Index is the call's place in the list, from 0.
	Index uint32
	// Tool and Key are those of the request.
	Tool, Key string
	// StepID is the step that records the call, the same for all attempts.
	StepID string
	// Attempt is 1 for the first; retries and reruns count on.
	Attempt uint32
}

// CallRetrying is an attempt that failed and will be repeated.
type CallRetrying struct {
	EventHeader
	// Index is the call's place in the list, from 0.
	Index uint32
	// StepID is the step that records the call.
	StepID string
	// Attempt is the one that failed.
	Attempt uint32
	// Error is how it failed.
	Error *CallError
	// RetryTime is when the next attempt is due.
	RetryTime time.Time
}

// CallProgress is how far a running call is. It is live only: never replayed, and some may be left out.
type CallProgress struct {
	EventHeader
	// Index is the call's place in the list, from 0.
	Index uint32
	// StepID is the step that records the call.
	StepID string
	// Progress is how much is done of Total, in the tool's unit; a Total of 0 is not known.
	Progress, Total float64
	// Message is for people.
	Message string
}

// CallFinished is a call that came to its end, and never runs again in this batch.
type CallFinished struct {
	EventHeader
	// Result is which end it was.
	Result CallResult
}

// BatchResumed is a batch that a server took up again after an interruption.
type BatchResumed struct {
	EventHeader
	// InDoubt are the calls that were in flight then, ascending.
	InDoubt []uint32
}

// BatchFinished is the last event of a batch.
type BatchFinished struct {
	EventHeader
	// Summary is how it went.
	Summary Summary
}

// Options are how a batch runs, with the server's defaults filled in.
type Options struct {
	Mode                        Mode
	MaxConcurrency              uint32
	SerializeOn                 string
	StopOnError, IncludeResults bool
	// CallTimeout is 0 where the tool's or the server's holds.
	CallTimeout time.Duration
	// Retry is nil where nothing is repeated.
	Retry   *RetryPolicy
	InDoubt InDoubt
}

// eventOf gives an event of the contract as its type; nil for a kind that is not known.
func eventOf(event *toolbatchv1.BatchEvent) Event {
	header := EventHeader{BatchID: event.GetBatchId(), Sequence: event.GetSequence(), Time: timeOf(event.GetTime())}
	switch kind := event.GetEvent().(type) {
	case *toolbatchv1.BatchEvent_BatchPlanned:
		return &BatchPlanned{header, each(kind.BatchPlanned.GetCalls(), plannedCallOf)}
	case *toolbatchv1.BatchEvent_BatchStarted:
		started := kind.BatchStarted
		return &BatchStarted{header, started.GetTaskId(), started.GetAgentId(), started.GetTotal(), optionsOf(started.GetOptions())}
	case *toolbatchv1.BatchEvent_CallStarted:
		started := kind.CallStarted
		return &CallStarted{header, started.GetIndex(), started.GetTool(), started.GetKey(), started.GetStepId(), started.GetAttempt()}
	case *toolbatchv1.BatchEvent_CallRetrying:
		retrying := kind.CallRetrying
		return &CallRetrying{header, retrying.GetIndex(), retrying.GetStepId(), retrying.GetAttempt(), callErrorOf(retrying.GetError()), timeOf(retrying.GetRetryTime())}
	case *toolbatchv1.BatchEvent_CallProgress:
		progress := kind.CallProgress
		return &CallProgress{header, progress.GetIndex(), progress.GetStepId(), progress.GetProgress(), progress.GetTotal(), progress.GetMessage()}
	case *toolbatchv1.BatchEvent_CallFinished:
		return &CallFinished{header, callResultOf(kind.CallFinished.GetResult())}
	case *toolbatchv1.BatchEvent_BatchResumed:
		return &BatchResumed{header, kind.BatchResumed.GetInDoubt()}
	case *toolbatchv1.BatchEvent_BatchFinished:
		return &BatchFinished{header, summaryOf(kind.BatchFinished.GetSummary())}
	}
	return nil
}

func optionsOf(options *toolbatchv1.BatchOptions) Options {
	read := Options{
		Mode:           Mode(options.GetMode()),
		MaxConcurrency: options.GetMaxConcurrency(),
		SerializeOn:    options.GetSerializeOn(),
		StopOnError:    options.GetStopOnError(),
		IncludeResults: options.GetIncludeResults(),
		CallTimeout:    options.GetCallTimeout().AsDuration(),
		InDoubt:        InDoubt(options.GetInDoubt()),
	}
	if retry := options.GetRetry(); retry != nil {
		read.Retry = &RetryPolicy{
			MaxAttempts:       retry.GetMaxAttempts(),
			InitialBackoff:    new(retry.GetInitialBackoff().AsDuration()),
			MaxBackoff:        new(retry.GetMaxBackoff().AsDuration()),
			BackoffMultiplier: retry.GetBackoffMultiplier(),
		}
	}
	return read
}
