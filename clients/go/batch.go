package toolbatch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/toolbatch/toolbatch/clients/go/internal/jsontext"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Batch is what to run, and how. What is left at its zero value is not sent, so the server's defaults hold; options whose zero value means
// something are pointers: StopOnError: new(false).
type Batch struct {
	// TaskID is the task, the scope of keys and of variables. Required, 1 to 256 bytes.
	TaskID string
	// AgentID is the agent whose tool list holds; empty: the caller's own. Only operators may name another.
	AgentID string
	// BatchID makes the request repeatable, at most 128 bytes. Empty: the client makes one (NewBatchID), the same for all attempts of one Run.
	BatchID string
	// Calls is the list itself: 1 to 200, in the order to run them, no key twice.
	Calls []Call
	// CallsRef, instead of Calls, is where the list is: "${VAR_1}.calls".
	CallsRef string
	// Mode is Sequential where it is not set.
	Mode Mode
	// MaxConcurrency bounds the calls that run at once in parallel mode, 1 to 16; 0: 4.
	MaxConcurrency uint32
	// SerializeOn is a dotted path or JSON Pointer into each call's args. Calls with an equal scalar there run one at a time, in order. Parallel
	// mode only.
	SerializeOn string
	// StopOnError has no call start after the first failure. nil: true.
	StopOnError *bool
	// IncludeResults has results under 4 KiB in events and summary, up to 256 KiB a batch. nil: true.
	IncludeResults *bool
	// CallTimeout bounds one attempt of one call, above 0 and at most 24 h. nil: the tool's own bound, else the server's.
	CallTimeout *time.Duration
	// Retry says when and how often a failed attempt is repeated. nil: never.
	Retry *RetryPolicy
	// InDoubt is InDoubtRerun where it is not set.
	InDoubt InDoubt
	// ValidateOnly has the request checked and answered with BatchPlanned; nothing runs.
	ValidateOnly bool
}

// Call is one call of a batch.
type Call struct {
	// Tool is its name in the agent's tool list. Required, 1 to 256 bytes.
	Tool string
	// Args are whatever encoding/json writes as an object: a struct, a map, an Object. A json.RawMessage or a JSON is sent byte for byte. nil: {}. At
	// most 1 MiB.
	Args any
	// Key has the call run at most once in its task. At most 512 bytes.
	Key string
}

// RetryPolicy is when and how often a failed attempt is repeated. Only what the tool marks retryable, or never left the server, is.
type RetryPolicy struct {
	// MaxAttempts is 1 to 10, the first included; 0: 1.
	MaxAttempts uint32
	// InitialBackoff is the wait before the second attempt, 0 to 10 min. nil: 100 ms.
	InitialBackoff *time.Duration
	// MaxBackoff is the longest wait, 0 to 10 min. nil: 10 s.
	MaxBackoff *time.Duration
	// BackoffMultiplier is how each wait grows from the one before, 1 to 10; 0: 2.
	BackoffMultiplier float64
}

// NewBatchID makes an id that no other batch has: a random UUID.
func NewBatchID() string {
	var id [16]byte
	rand.Read(id[:]) // Never fails: the programme ends where the system has no randomness.
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// request writes a batch as the contract has it.
func (b Batch) request() (*toolbatchv1.ExecuteBatchRequest, error) {
	request := &toolbatchv1.ExecuteBatchRequest{
		TaskId: b.TaskID, AgentId: b.AgentID, BatchId: b.BatchID, Options: b.options(), ValidateOnly: b.ValidateOnly,
	}
	if request.BatchId == "" {
		request.BatchId = NewBatchID()
	}
	switch {
	case b.CallsRef != "" && len(b.Calls) > 0:
		return nil, errors.New("toolbatch: batch: expected Calls or CallsRef, found both")
	case b.CallsRef != "":
		request.Source = &toolbatchv1.ExecuteBatchRequest_CallsRef{CallsRef: b.CallsRef}
		return request, nil
	}
	list := &toolbatchv1.CallList{}
	for place, call := range b.Calls {
		args, err := argsText(call.Args)
		if err != nil {
			return nil, fmt.Errorf("toolbatch: batch: Calls[%d].Args of %q: %w", place, call.Tool, err)
		}
		list.Calls = append(list.Calls, &toolbatchv1.ToolCall{Tool: call.Tool, ArgsJson: args, Key: call.Key})
	}
	request.Source = &toolbatchv1.ExecuteBatchRequest_CallList{CallList: list}
	return request, nil
}

// options gives those that are set; nil where none is.
func (b Batch) options() *toolbatchv1.BatchOptions {
	unset := b.Mode == 0 && b.MaxConcurrency == 0 && b.SerializeOn == "" && b.StopOnError == nil && b.IncludeResults == nil &&
		b.CallTimeout == nil && b.Retry == nil && b.InDoubt == 0
	if unset {
		return nil
	}
	options := &toolbatchv1.BatchOptions{
		Mode:           toolbatchv1.BatchMode(b.Mode),
		MaxConcurrency: b.MaxConcurrency,
		SerializeOn:    b.SerializeOn,
		StopOnError:    b.StopOnError,
		IncludeResults: b.IncludeResults,
		CallTimeout:    durationOf(b.CallTimeout),
		InDoubt:        toolbatchv1.InDoubtPolicy(b.InDoubt),
	}
	if b.Retry != nil {
		options.Retry = &toolbatchv1.RetryPolicy{
			MaxAttempts:       b.Retry.MaxAttempts,
			InitialBackoff:    durationOf(b.Retry.InitialBackoff),
			MaxBackoff:        durationOf(b.Retry.MaxBackoff),
			BackoffMultiplier: b.Retry.BackoffMultiplier,
		}
	}
	return options
}

// argsText writes args; nil is no text at all.
func argsText(args any) (string, error) {
	if args == nil {
		return "", nil
	}
	return jsontext.Encode(args)
}

func durationOf(duration *time.Duration) *durationpb.Duration {
	if duration == nil {
		return nil
	}
	return durationpb.New(*duration)
}
