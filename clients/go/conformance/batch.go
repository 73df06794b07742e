package main

import (
	"encoding/json"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
)

// batch is a batch as a request holds it.
type batch struct {
	TaskID         string `json:"task_id"`
	BatchID        string `json:"batch_id"`
	AgentID        string `json:"agent_id"`
	Calls          []call `json:"calls"`
	CallsRef       string `json:"calls_ref"`
	Mode           string `json:"mode"`
	MaxConcurrency uint32 `json:"max_concurrency"`
	SerializeOn    string `json:"serialize_on"`
	StopOnError    *bool  `json:"stop_on_error"`
	IncludeResults *bool  `json:"include_results"`
	CallTimeoutMS  *int64 `json:"call_timeout_ms"`
	Retry          *retry `json:"retry"`
	InDoubt        string `json:"in_doubt"`
	ValidateOnly   bool   `json:"validate_only"`
}

type call struct {
	Tool     string          `json:"tool"`
	Key      string          `json:"key"`
	ArgsJSON *string         `json:"args_json"`
	Args     json.RawMessage `json:"args"`
}

type retry struct {
	MaxAttempts       uint32  `json:"max_attempts"`
	InitialBackoffMS  *int64  `json:"initial_backoff_ms"`
	MaxBackoffMS      *int64  `json:"max_backoff_ms"`
	BackoffMultiplier float64 `json:"backoff_multiplier"`
}

var (
	modes    = map[string]toolbatch.Mode{"sequential": toolbatch.Sequential, "parallel": toolbatch.Parallel}
	policies = map[string]toolbatch.InDoubt{"rerun": toolbatch.InDoubtRerun, "lookup": toolbatch.InDoubtLookup, "fail": toolbatch.InDoubtFail}
)

// library gives the batch as the library takes it.
func (b batch) library() toolbatch.Batch {
	given := toolbatch.Batch{
		TaskID: b.TaskID, BatchID: b.BatchID, AgentID: b.AgentID, CallsRef: b.CallsRef, Mode: modes[b.Mode], MaxConcurrency: b.MaxConcurrency,
		SerializeOn: b.SerializeOn, StopOnError: b.StopOnError, IncludeResults: b.IncludeResults, CallTimeout: milliseconds(b.CallTimeoutMS),
		InDoubt: policies[b.InDoubt], ValidateOnly: b.ValidateOnly,
	}
	if b.Retry != nil {
		given.Retry = &toolbatch.RetryPolicy{
			MaxAttempts: b.Retry.MaxAttempts, InitialBackoff: milliseconds(b.Retry.InitialBackoffMS),
			MaxBackoff: milliseconds(b.Retry.MaxBackoffMS), BackoffMultiplier: b.Retry.BackoffMultiplier,
		}
	}
	for _, call := range b.Calls {
		given.Calls = append(given.Calls, toolbatch.Call{Tool: call.Tool, Key: call.Key, Args: call.args()})
	}
	return given
}

// args gives raw text as such, and a value as Go's own, with its members in their order.
func (c call) args() any {
	if c.ArgsJSON != nil {
		return toolbatch.JSON(*c.ArgsJSON)
	}
	if c.Args == nil {
		return nil
	}
	value, err := toolbatch.JSON(c.Args).Ordered()
	if err != nil {
		panic(err) // It was read as a part of its line before.
	}
	return value
}

func milliseconds(count *int64) *time.Duration {
	if count == nil {
		return nil
	}
	return new(time.Duration(*count) * time.Millisecond)
}
