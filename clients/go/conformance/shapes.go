package main

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
)

// writer writes one JSON object a line, at once.
type writer struct {
	to  io.Writer
	err error
}

func (w *writer) write(line object) {
	encoder := json.NewEncoder(w.to)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil && w.err == nil {
		w.err = err
	}
}

// holds tells whether an event has all of these members, which are those of a scenario's line.
func holds(event object, members map[string]any) bool {
	text, err := json.Marshal(event)
	if err != nil {
		return false
	}
	var written map[string]any
	if toolbatch.JSON(text).Decode(&written) != nil {
		return false
	}
	return contains(written, members)
}

// contains tells whether an object has all members of another, inner objects alike. What is absent is empty, 0 or false.
func contains(found, wanted map[string]any) bool {
	for name, want := range wanted {
		have := found[name]
		inner, ok := want.(map[string]any)
		if ok {
			within, _ := have.(map[string]any)
			if !contains(within, inner) {
				return false
			}
		} else if !reflect.DeepEqual(have, want) && !(have == nil && isEmpty(want)) {
			return false
		}
	}
	return true
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case json.Number:
		return value == "0"
	case string:
		return value == ""
	case bool:
		return !value
	case []any:
		return len(value) == 0
	}
	return false
}

func eventOf(event toolbatch.Event) object {
	about := event.About()
	shown := object{"batch_id": about.BatchID, "sequence": about.Sequence}
	with := func(kind string, members object) object {
		shown["kind"] = kind
		for name, value := range members {
			shown[name] = value
		}
		return shown
	}
	switch event := event.(type) {
	case *toolbatch.BatchPlanned:
		return with("batch_planned", object{"calls": each(event.Calls, plannedOf)})
	case *toolbatch.BatchStarted:
		return with("batch_started", object{
			"task_id": event.TaskID, "agent_id": event.AgentID, "total": event.Total, "options": optionsOf(event.Options),
		})
	case *toolbatch.CallStarted:
		return with("call_started", object{
			"index": event.Index, "tool": event.Tool, "key": event.Key, "step_id": event.StepID, "attempt": event.Attempt,
		})
	case *toolbatch.CallRetrying:
		return with("call_retrying", object{
			"index": event.Index, "step_id": event.StepID, "attempt": event.Attempt, "error": errorOf(event.Error),
		})
	case *toolbatch.CallProgress:
		return with("call_progress", object{
			"index": event.Index, "step_id": event.StepID, "progress": event.Progress, "total": event.Total, "message": event.Message,
		})
	case *toolbatch.CallFinished:
		return with("call_finished", object{"result": resultOf(event.Result)})
	case *toolbatch.BatchResumed:
		return with("batch_resumed", object{"in_doubt": event.InDoubt})
	case *toolbatch.BatchFinished:
		return with("batch_finished", object{"summary": summaryOf(event.Summary)})
	}
	return with(fmt.Sprintf("%T", event), nil)
}

func optionsOf(options toolbatch.Options) object {
	return object{
		"mode": enum(options.Mode), "max_concurrency": options.MaxConcurrency, "serialize_on": options.SerializeOn,
		"stop_on_error": options.StopOnError, "include_results": options.IncludeResults, "in_doubt": enum(options.InDoubt),
	}
}

func summaryOf(summary toolbatch.Summary) object {
	return object{
		"status": enum(summary.Status), "total": summary.Total, "succeeded": summary.Succeeded, "failed": summary.Failed,
		"skipped": summary.Skipped, "awaiting": summary.Awaiting, "not_run": summary.NotRun, "stop_reason": enum(summary.StopReason),
		"results": each(summary.Results, resultOf),
	}
}

func resultOf(result toolbatch.CallResult) object {
	shown := object{
		"index": result.Index, "tool": result.Tool, "key": result.Key, "status": enum(result.Status), "step_id": result.StepID,
		"result_json": string(result.Result), "result_omitted": result.ResultOmitted, "error": errorOf(result.Error),
		"await_id": result.AwaitID, "attempts": result.Attempts, "args_changed": result.ArgsChanged,
	}
	if result.Result != "" {
		value, err := result.Result.Ordered()
		if err != nil {
			value = err.Error()
		}
		shown["value"] = value
	}
	return shown
}

func plannedOf(call toolbatch.PlannedCall) object {
	return object{
		"index": call.Index, "tool": call.Tool, "base_tool": call.BaseTool, "backend": call.Backend, "key": call.Key, "lane": call.Lane,
		"skipped_step_id": call.SkippedStepID, "error": errorOf(call.Error),
	}
}

func stepOf(step toolbatch.Step) object {
	return object{
		"args_json": string(step.Args), "result_json": string(step.Result), "result_bytes": step.ResultBytes, "status": enum(step.Status),
		"attempts": step.Attempts, "error": errorOf(step.Error),
	}
}

func usageOf(rows []toolbatch.UsageRow) []object {
	return each(rows, func(row toolbatch.UsageRow) object {
		return object{
			"tool": row.Tool, "unit": row.Unit, "quantity": row.Quantity, "cost_nanos": strconv.FormatInt(row.CostNanos, 10),
			"currency": row.Currency,
		}
	})
}

// errorOf gives nil, not an empty object, where nothing failed.
func errorOf(failure *toolbatch.CallError) any {
	if failure == nil {
		return nil
	}
	return object{
		"reason": enum(failure.Reason), "message": failure.Message, "outcome_unknown": failure.OutcomeUnknown, "retryable": failure.Retryable,
		"code": failure.Code,
	}
}

// enum gives an enum value's name, nothing for the unspecified one.
func enum(value fmt.Stringer) string {
	if name := value.String(); name != "unspecified" {
		return name
	}
	return ""
}

func each[From any](list []From, shape func(From) object) []object {
	shown := make([]object, len(list))
	for place, entry := range list {
		shown[place] = shape(entry)
	}
	return shown
}
