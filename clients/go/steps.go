package toolbatch

import (
	"time"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
)

// Step is the record of one call, of a direct step or of a batch.
type Step struct {
	// StepID names it; a batch's is its batch id.
	StepID string
	// ParentStepID is the batch of a batched call.
	ParentStepID string
	// TaskID and AgentID are those that it was taken in and for.
	TaskID, AgentID string
	// Tool is as called, BaseTool what that resolved to, Backend where it went.
	Tool, BaseTool, Backend string
	// Key is the call's key.
	Key string
	// Index is a batched call's place in the list, from 0.
	Index uint32
	// Status is where it stands.
	Status CallStatus
	// Attempts is how often it was sent.
	Attempts uint32
	// Args are the arguments, byte for byte as they came.
	Args JSON
	// Result is the result, byte for byte; empty where it is over 1 MiB: Client.StepResult reads it.
	Result JSON
	// ResultBytes is the length of the result's text, 0 where there is none.
	ResultBytes uint64
	// Error is set where it failed.
	Error *CallError
	// AwaitID names the review that it waits for.
	AwaitID string
	// StartTime and EndTime are when its first attempt left and when it ended; zero where that did not happen.
	StartTime, EndTime time.Time
	// Usage is what it used, a row per unit.
	Usage []UsageRow
	// TraceID is the W3C trace id of the call's span.
	TraceID string
}

// UsageRow is what one step used of one unit.
type UsageRow struct {
	// StepID is the step, Tool the called tool, Unit such as "calls" or "pages".
	StepID, Tool, Unit string
	// Quantity is how many.
	Quantity float64
	// CostNanos is the cost in thousand-millionths of Currency; 0 where the unit has no price.
	CostNanos int64
	// Currency is an ISO 4217 code.
	Currency string
}

// Tool is a tool that can be called.
type Tool struct {
	// Name is what calls name.
	Name string
	// Description is for models and people.
	Description string
	// InputSchema is the JSON Schema of the args; empty: any object.
	InputSchema JSON
	// Pauses: no batch may call it.
	Pauses bool
	// ReportsProgress: its calls tell how far they are.
	ReportsProgress bool
	// Timeout bounds one attempt where the batch sets none; 0: the server's.
	Timeout time.Duration
}

func stepOf(step *toolbatchv1.Step) Step {
	return Step{
		StepID:       step.GetStepId(),
		ParentStepID: step.GetParentStepId(),
		TaskID:       step.GetTaskId(),
		AgentID:      step.GetAgentId(),
		Tool:         step.GetTool(),
		BaseTool:     step.GetBaseTool(),
		Backend:      step.GetBackend(),
		Key:          step.GetKey(),
		Index:        step.GetIndex(),
		Status:       CallStatus(step.GetStatus()),
		Attempts:     step.GetAttempts(),
		Args:         JSON(step.GetArgsJson()),
		Result:       JSON(step.GetResultJson()),
		ResultBytes:  step.GetResultBytes(),
		Error:        callErrorOf(step.GetError()),
		AwaitID:      step.GetAwaitId(),
		StartTime:    timeOf(step.GetStartTime()),
		EndTime:      timeOf(step.GetEndTime()),
		Usage:        each(step.GetUsage(), usageRowOf),
		TraceID:      step.GetTraceId(),
	}
}

func usageRowOf(row *toolbatchv1.UsageRow) UsageRow {
	return UsageRow{
		StepID: row.GetStepId(), Tool: row.GetTool(), Unit: row.GetUnit(),
		Quantity: row.GetQuantity(), CostNanos: row.GetCostNanos(), Currency: row.GetCurrency(),
	}
}

func toolOf(tool *toolbatchv1.Tool) Tool {
	return Tool{
		Name: tool.GetName(), Description: tool.GetDescription(), InputSchema: JSON(tool.GetInputSchemaJson()),
		Pauses: tool.GetPauses(), ReportsProgress: tool.GetReportsProgress(), Timeout: tool.GetTimeout().AsDuration(),
	}
}
