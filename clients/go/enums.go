package toolbatch

import (
	"strings"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
)

// Every kind of enum is a number: a newer server may send one that this version has no name for, which reads as "unknown".

// Mode is how a batch's calls run: one after another, or side by side.
type Mode int32

// The modes of a batch.
const (
	// Sequential runs one call at a time, in the order given; also what the server does where no mode is set.
	Sequential = Mode(toolbatchv1.BatchMode_BATCH_MODE_SEQUENTIAL)
	// Parallel runs at most MaxConcurrency calls at once, those of a lane in order.
	Parallel = Mode(toolbatchv1.BatchMode_BATCH_MODE_PARALLEL)
)

// String gives the name, such as "parallel".
func (m Mode) String() string { return nameOf(int32(m), toolbatchv1.BatchMode_name, "BATCH_MODE_") }

// InDoubt is what becomes of a call whose outcome an interruption left unknown.
type InDoubt int32

// The policies for calls in doubt.
const (
	// InDoubtRerun runs the call again, marked in_doubt; also what the server does where none is set.
	InDoubtRerun = InDoubt(toolbatchv1.InDoubtPolicy_IN_DOUBT_POLICY_RERUN)
	// InDoubtLookup asks the backend; where it cannot tell, the call fails with its outcome unknown.
	InDoubtLookup = InDoubt(toolbatchv1.InDoubtPolicy_IN_DOUBT_POLICY_LOOKUP)
	// InDoubtFail fails the call with its outcome unknown.
	InDoubtFail = InDoubt(toolbatchv1.InDoubtPolicy_IN_DOUBT_POLICY_FAIL)
)

// String gives the name, such as "lookup".
func (p InDoubt) String() string {
	return nameOf(int32(p), toolbatchv1.InDoubtPolicy_name, "IN_DOUBT_POLICY_")
}

// BatchStatus is how a batch went.
type BatchStatus int32

// The states of a batch.
const (
	// BatchRunning is not over yet.
	BatchRunning = BatchStatus(toolbatchv1.BatchStatus_BATCH_STATUS_RUNNING)
	// BatchCompleted has every call completed or skipped.
	BatchCompleted = BatchStatus(toolbatchv1.BatchStatus_BATCH_STATUS_COMPLETED)
	// BatchPartial is neither completed nor failed.
	BatchPartial = BatchStatus(toolbatchv1.BatchStatus_BATCH_STATUS_PARTIAL)
	// BatchFailed has no call completed, skipped or awaiting.
	BatchFailed = BatchStatus(toolbatchv1.BatchStatus_BATCH_STATUS_FAILED)
)

// String gives the name, such as "completed".
func (s BatchStatus) String() string {
	return nameOf(int32(s), toolbatchv1.BatchStatus_name, "BATCH_STATUS_")
}

// CallStatus is where a call stands.
type CallStatus int32

// The states of a call.
const (
	// CallCompleted was done by its tool.
	CallCompleted = CallStatus(toolbatchv1.CallStatus_CALL_STATUS_COMPLETED)
	// CallFailed failed; with OutcomeUnknown it may have taken effect all the same.
	CallFailed = CallStatus(toolbatchv1.CallStatus_CALL_STATUS_FAILED)
	// CallSkipped did not run, as its key was completed before in this task.
	CallSkipped = CallStatus(toolbatchv1.CallStatus_CALL_STATUS_SKIPPED)
	// CallNotRun did not run, as the batch stopped before it.
	CallNotRun = CallStatus(toolbatchv1.CallStatus_CALL_STATUS_NOT_RUN)
	// CallAwaiting ran, and waits for a review.
	CallAwaiting = CallStatus(toolbatchv1.CallStatus_CALL_STATUS_AWAITING)
	// CallRunning stands on a Step only.
	CallRunning = CallStatus(toolbatchv1.CallStatus_CALL_STATUS_RUNNING)
)

// String gives the name, such as "not_run".
func (s CallStatus) String() string {
	return nameOf(int32(s), toolbatchv1.CallStatus_name, "CALL_STATUS_")
}

// StopReason is why a batch left calls out; 0 where it left none out.
type StopReason int32

// The reasons to stop a batch.
const (
	// StopCallFailed is a failed call, with stop_on_error on.
	StopCallFailed = StopReason(toolbatchv1.StopReason_STOP_REASON_CALL_FAILED)
	// StopAwaitingReview is a call that waits for a review.
	StopAwaitingReview = StopReason(toolbatchv1.StopReason_STOP_REASON_AWAITING_REVIEW)
	// StopCancelled is Client.CancelBatch.
	StopCancelled = StopReason(toolbatchv1.StopReason_STOP_REASON_CANCELLED)
	// StopTaskEnded is the end of the task.
	StopTaskEnded = StopReason(toolbatchv1.StopReason_STOP_REASON_TASK_ENDED)
	// StopParked is a batch that was running at three crashes of the server in a row.
	StopParked = StopReason(toolbatchv1.StopReason_STOP_REASON_PARKED)
)

// String gives the name, such as "call_failed".
func (r StopReason) String() string {
	return nameOf(int32(r), toolbatchv1.StopReason_name, "STOP_REASON_")
}

// ErrorReason is the kind of failure of a call.
type ErrorReason int32

// The kinds of failure of a call.
const (
	// ReasonToolFailed: the tool ran and reported a failure.
	ReasonToolFailed = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_TOOL_FAILED)
	// ReasonToolNotAllowed: not in the agent's tool list; nothing was sent.
	ReasonToolNotAllowed = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_TOOL_NOT_ALLOWED)
	// ReasonToolNotFound: no backend serves it; nothing was sent.
	ReasonToolNotFound = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_TOOL_NOT_FOUND)
	// ReasonToolNotBatchable: no batch may call it; nothing was sent.
	ReasonToolNotBatchable = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_TOOL_NOT_BATCHABLE)
	// ReasonInvalidArgs: the args do not fit the tool's schema; nothing was sent.
	ReasonInvalidArgs = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_INVALID_ARGS)
	// ReasonBackendUnavailable: the backend could not be reached, or was lost; OutcomeUnknown tells which.
	ReasonBackendUnavailable = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_BACKEND_UNAVAILABLE)
	// ReasonTimedOut: no answer within the call's timeout.
	ReasonTimedOut = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_TIMED_OUT)
	// ReasonCancelled: cancelled while it ran.
	ReasonCancelled = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_CANCELLED)
	// ReasonInDoubt: its outcome is unknown, and it is not to be run again.
	ReasonInDoubt = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_IN_DOUBT)
	// ReasonBadResponse: the backend answered something that is no valid result.
	ReasonBadResponse = ErrorReason(toolbatchv1.CallErrorReason_CALL_ERROR_REASON_BAD_RESPONSE)
)

// String gives the name, such as "tool_failed".
func (r ErrorReason) String() string {
	return nameOf(int32(r), toolbatchv1.CallErrorReason_name, "CALL_ERROR_REASON_")
}

// nameOf gives an enum value's name in lower case without its prefix, "unspecified" for 0 and "unknown" for one without a name.
func nameOf(value int32, names map[int32]string, prefix string) string {
	name, known := names[value]
	if !known {
		return "unknown"
	}
	return strings.ToLower(strings.TrimPrefix(name, prefix))
}
