package backend

import (
	"strings"
	"sync"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
)

// Call is one attempt of one call, and where it belongs. Its methods may be used by any number of goroutines, until the function returns; after
// that they do nothing.
type Call struct {
	// Tool is the name that is called.
	Tool string
	// Args is the text of the args, byte for byte as the client wrote it; {} where it wrote none.
	Args toolbatch.JSON
	// TaskID and AgentID are those that the call is made in and for.
	TaskID, AgentID string
	// Key is the call's key in its task; empty: none.
	Key string
	// BatchID is the batch of the call; empty for a direct step.
	BatchID string
	// StepID is the step that records the call.
	StepID string
	// Index is its place in the batch, from 0.
	Index uint32
	// Attempt is 1 for the first; retries and reruns count on.
	Attempt uint32
	// IdempotencyKey is the same for every attempt of one logical call, and for nothing else. A tool that remembers it acts once.
	IdempotencyKey string
	// InDoubt: an earlier attempt was cut off, and may have taken effect.
	InDoubt bool

	mutex    sync.Mutex
	ended    bool
	progress func(*toolbatchv1.ToolProgress)
	usage    []*toolbatchv1.UsageItem
}

func callOf(tool, args string, context *toolbatchv1.CallContext) *Call {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	return &Call{
		Tool: tool, Args: toolbatch.JSON(args),
		TaskID: context.GetTaskId(), AgentID: context.GetAgentId(), Key: context.GetKey(), BatchID: context.GetBatchId(),
		StepID: context.GetStepId(), Index: context.GetIndex(), Attempt: context.GetAttempt(),
		IdempotencyKey: context.GetIdempotencyKey(), InDoubt: context.GetInDoubt(),
	}
}

// Progress tells how much is done of a total, in the tool's own unit, with words for people; a total of 0 is not known. It reaches anybody only
// where the tool declares ReportsProgress.
func (c *Call) Progress(progress, total float64, message string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.ended && c.progress != nil {
		c.progress(&toolbatchv1.ToolProgress{Progress: progress, Total: total, Message: plain(message)})
	}
}

// Usage notes that the call used a quantity of a unit, such as "pages"; finite and not negative. It counts whatever the outcome is. A call that
// notes none uses one of "calls".
func (c *Call) Usage(unit string, quantity float64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.ended {
		c.usage = append(c.usage, &toolbatchv1.UsageItem{Unit: plain(unit), Quantity: quantity})
	}
}

// end gives the usage; nothing is told after that.
func (c *Call) end() []*toolbatchv1.UsageItem {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.ended = true
	return c.usage
}
