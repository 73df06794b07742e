package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/llm"
)

// request is one line of what the client is asked.
type request struct {
	Do            string          `json:"do"`
	Server        string          `json:"server"`
	Token         string          `json:"token"`
	CA            string          `json:"ca"`
	GiveUpAfterMS int64           `json:"give_up_after_ms"`
	DeadlineMS    int64           `json:"deadline_ms"`
	Stop          *stop           `json:"stop"`
	Batch         batch           `json:"batch"`
	BatchID       string          `json:"batch_id"`
	AfterSequence uint64          `json:"after_sequence"`
	AbortRunning  bool            `json:"abort_running"`
	TaskID        string          `json:"task_id"`
	Name          string          `json:"name"`
	ValueJSON     string          `json:"value_json"`
	StepID        string          `json:"step_id"`
	Format        llm.Format      `json:"format"`
	Call          json.RawMessage `json:"call"`
}

// stop is where a stream is left, and how.
type stop struct {
	After map[string]any `json:"after"`
	How   string         `json:"how"`
}

// object is one JSON object of the output.
type object map[string]any

// client does what each line asks.
func client(input io.Reader, output io.Writer) error {
	lines := bufio.NewReader(input)
	out := &writer{to: output}
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var asked request
			if err := toolbatch.JSON(line).Decode(&asked); err != nil {
				return fmt.Errorf("a request: %w", err)
			}
			out.write(object{"end": asked.run(out)})
		}
		if errors.Is(err, io.EOF) {
			return out.err
		} else if err != nil {
			return err
		}
	}
}

// run does what is asked, and gives the end.
func (r *request) run(out *writer) object {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.DeadlineMS > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.DeadlineMS)*time.Millisecond)
		defer cancel()
	}
	var options []toolbatch.Option
	if r.Token != "" {
		options = append(options, toolbatch.WithToken(r.Token))
	}
	if r.CA != "" {
		options = append(options, toolbatch.WithCA(r.CA))
	}
	if r.GiveUpAfterMS > 0 {
		options = append(options, toolbatch.WithGiveUpAfter(time.Duration(r.GiveUpAfterMS)*time.Millisecond))
	}
	client, err := toolbatch.Dial(r.Server, options...)
	if err != nil {
		return failed(err)
	}
	defer client.Close()
	end, err := r.ask(ctx, cancel, client, out)
	if err != nil {
		return failed(err)
	}
	return end
}

func (r *request) ask(ctx context.Context, cancel context.CancelFunc, client *toolbatch.Client, out *writer) (object, error) {
	switch r.Do {
	case "run":
		return r.follow(cancel, client.Run(ctx, r.Batch.library()), out)
	case "watch":
		return r.follow(cancel, client.Watch(ctx, r.BatchID, r.AfterSequence), out)
	case "result":
		summary, err := client.Result(ctx, r.Batch.library())
		return object{"finished": summaryOf(summary)}, err
	case "cancel_batch":
		summary, err := client.CancelBatch(ctx, r.BatchID, r.AbortRunning)
		return object{"value": summaryOf(summary)}, err
	case "set_variable":
		name, err := client.SetVariable(ctx, r.TaskID, r.Name, toolbatch.JSON(r.ValueJSON))
		return object{"value": name}, err
	case "step":
		step, err := client.Step(ctx, r.StepID)
		return object{"value": stepOf(step)}, err
	case "step_result":
		text, err := client.StepResult(ctx, r.StepID)
		return object{"raw": string(text)}, err
	case "usage":
		rows, err := client.Usage(ctx, r.TaskID)
		return object{"value": usageOf(rows)}, err
	case "definitions":
		definitions, err := llm.Definitions(ctx, client, r.Format)
		return object{"value": definitions}, err
	case "tool_call":
		answer, err := llm.ToolCall(ctx, client, r.Format, r.TaskID, r.Call)
		return object{"value": answer}, err
	}
	return nil, fmt.Errorf("there is nothing called %q to do", r.Do)
}

// follow writes the events of a stream, and gives how it ended.
func (r *request) follow(cancel context.CancelFunc, events iter.Seq2[toolbatch.Event, error], out *writer) (object, error) {
	for event, err := range events {
		if err != nil {
			return nil, err
		}
		shown := eventOf(event)
		out.write(object{"event": shown})
		switch event := event.(type) {
		case *toolbatch.BatchFinished:
			return object{"finished": summaryOf(event.Summary)}, nil
		case *toolbatch.BatchPlanned:
			return object{"planned": true}, nil
		}
		if r.Stop != nil && holds(shown, r.Stop.After) {
			if r.Stop.How == "leave" {
				return object{"left": true}, nil
			}
			cancel()
		}
	}
	return object{"over": true}, nil
}

// failed gives the end that an error of the library is.
func failed(err error) object {
	var refused *toolbatch.RefusedError
	var unavailable *toolbatch.UnavailableError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return object{"deadline_exceeded": true}
	case errors.Is(err, context.Canceled):
		return object{"cancelled": true}
	case errors.As(err, &unavailable):
		return object{"unavailable": object{"message": unavailable.Error()}}
	case errors.As(err, &refused):
		violations := []object{}
		for _, violation := range refused.Violations {
			violations = append(violations, object{"field": violation.Field, "description": violation.Description})
		}
		return object{"refused": object{
			"status": refused.StatusName(), "reason": refused.Reason, "message": refused.Message, "violations": violations,
		}}
	}
	return object{"error": err.Error()}
}
