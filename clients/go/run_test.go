package toolbatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
	"google.golang.org/grpc/codes"
)

func TestABatchIsGivenOutWholeAndByteForByte(t *testing.T) {
	b := newBench(t)
	text := `{ "z": 1.10, "a": "<é>", "n": 12345678901234567890 }`
	events := collect(t, 0, b.client.Run(t.Context(), toolbatch.Batch{
		TaskID: "T", Calls: []toolbatch.Call{{Tool: "echo", Args: json.RawMessage(text)}, {Tool: "fail"}, {Tool: "echo"}},
	}))
	started := events[0].(*toolbatch.BatchStarted)
	equal(t, "mode", started.Options.Mode, toolbatch.Sequential)
	equal(t, "stop_on_error", started.Options.StopOnError, true)
	end := summary(events)
	equal(t, "status", end.Status, toolbatch.BatchPartial)
	equal(t, "stop reason", end.StopReason, toolbatch.StopCallFailed)
	equal(t, "result", end.Results[0].Result, toolbatch.JSON(text))
	equal(t, "code", end.Results[1].Error.Code, "LOCKED")
	equal(t, "reason", end.Results[1].Error.Reason, toolbatch.ReasonToolFailed)
	equal(t, "third", end.Results[2].Status, toolbatch.CallNotRun)
	var value struct{ N json.Number }
	if err := end.Results[0].Result.Decode(&value); err != nil || value.N != "12345678901234567890" {
		t.Errorf("expected all digits, found %s, %v", value.N, err)
	}
}

func TestAStreamThatIsCutAgainAndAgainIsWhole(t *testing.T) {
	b := newBench(t)
	proxy := livetest.Cut(t, b.server, 9_000)
	var calls []toolbatch.Call
	for at := range 60 {
		calls = append(calls, toolbatch.Call{Tool: "echo", Args: map[string]int{"n": at}})
	}
	events := collect(t, 0, dial(t, proxy.URL).Run(t.Context(), toolbatch.Batch{TaskID: "T", IncludeResults: new(false), Calls: calls}))
	equal(t, "succeeded", summary(events).Succeeded, 60)
	if made := proxy.Connections.Load(); made < 3 {
		t.Errorf("expected the connection to be cut, found %d connections", made)
	}
}

func TestAServerThatComesBackTakesTheBatchUpAgain(t *testing.T) {
	for name, end := range map[string]func(*livetest.Server){"killed": (*livetest.Server).Kill, "stopped": (*livetest.Server).Stop} {
		t.Run(name, func(t *testing.T) { interrupt(t, end) })
	}
}

// interrupt runs a batch whose second call runs while the server ends and comes back.
func interrupt(t *testing.T, end func(*livetest.Server)) {
	b := newBench(t)
	resumed := false
	next := uint64(1)
	for event, err := range b.client.Run(t.Context(), toolbatch.Batch{TaskID: "T", Calls: []toolbatch.Call{{Tool: "echo"}, {Tool: "hold"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "sequence", event.About().Sequence, next)
		next++
		switch event := event.(type) {
		case *toolbatch.CallStarted:
			if event.Tool == "hold" && event.Attempt == 1 {
				livetest.Receive(t, b.held, "the call")
				end(b.server)
				b.server.Restart()
				close(b.open)
			}
		case *toolbatch.BatchResumed:
			resumed = true
		case *toolbatch.BatchFinished:
			equal(t, "first attempts", event.Summary.Results[0].Attempts, 1)
			equal(t, "result", event.Summary.Results[1].Result, `{"attempt":2,"in_doubt":true}`)
		}
	}
	equal(t, "resumed", resumed, true)
}

func TestLeavingTheLoopLeavesTheBatchRunning(t *testing.T) {
	b := newBench(t)
	var seen toolbatch.EventHeader
	for event, err := range b.client.Run(t.Context(), toolbatch.Batch{TaskID: "T", Calls: []toolbatch.Call{{Tool: "hold"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = event.About()
		if _, ok := event.(*toolbatch.CallStarted); ok {
			break
		}
	}
	livetest.Receive(t, b.held, "the call")
	running, err := b.client.GetBatch(t.Context(), seen.BatchID)
	if err != nil || running.Status != toolbatch.BatchRunning {
		t.Fatalf("expected a running batch, found %v, %v", running.Status, err)
	}
	close(b.open)
	events := collect(t, seen.Sequence, b.client.Watch(t.Context(), seen.BatchID, seen.Sequence))
	equal(t, "status", summary(events).Status, toolbatch.BatchCompleted)
	for event, err := range b.client.Watch(t.Context(), seen.BatchID, events[len(events)-1].About().Sequence) {
		t.Fatalf("expected nothing after the last event, found %v, %v", event, err)
	}
}

func TestTheContextEndsAStreamAndNotTheBatch(t *testing.T) {
	b := newBench(t)
	defer close(b.open)
	batch := toolbatch.Batch{TaskID: "T", BatchID: toolbatch.NewBatchID(), Calls: []toolbatch.Call{{Tool: "hold"}}}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := b.client.Result(ctx, batch)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), batch.BatchID) {
		t.Fatalf("expected the deadline and the batch's id, found %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	for _, err = range b.client.Run(ctx, batch) {
		cancel()
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("expected the cancellation, found %v", err)
	}
	stopped, err := b.client.CancelBatch(t.Context(), batch.BatchID, true)
	if err != nil || stopped.Total != 1 {
		t.Fatalf("expected the batch, found %v, %v", stopped, err)
	}
}

func TestAServerThatIsNotThereIsGivenUp(t *testing.T) {
	client := dial(t, "http://"+livetest.FreeAddress(t), toolbatch.WithGiveUpAfter(300*time.Millisecond))
	begun := time.Now()
	_, err := client.Result(t.Context(), toolbatch.Batch{TaskID: "T", BatchID: "b-1", Calls: []toolbatch.Call{{Tool: "echo"}}})
	gone := as[*toolbatch.UnavailableError](t, err)
	equal(t, "batch", gone.BatchID, "b-1")
	if took := time.Since(begun); took < 250*time.Millisecond || took > 10*time.Second {
		t.Errorf("expected to give up after 300 ms, found %s", took)
	}
	if !strings.Contains(err.Error(), "b-1") || !strings.Contains(err.Error(), "may be running") {
		t.Errorf("expected words on the batch, found %v", err)
	}
	_, err = client.Step(t.Context(), "s-1")
	as[*toolbatch.UnavailableError](t, err)
	_, err = client.SetVariable(t.Context(), "T", "V", 1)
	as[*toolbatch.UnavailableError](t, err)
}

func TestAServerThatStopsIsGivenUpWithTheLastSequence(t *testing.T) {
	b := newBench(t)
	defer close(b.open)
	client := dial(t, b.server.URL, toolbatch.WithGiveUpAfter(300*time.Millisecond))
	var last error
	for event, err := range client.Run(t.Context(), toolbatch.Batch{TaskID: "T", Calls: []toolbatch.Call{{Tool: "hold"}}}) {
		last = err
		if _, ok := event.(*toolbatch.CallStarted); ok {
			livetest.Receive(t, b.held, "the call")
			b.server.Kill()
		}
	}
	equal(t, "last sequence", as[*toolbatch.UnavailableError](t, last).LastSequence, 2)
}

func TestRefusalsAreTyped(t *testing.T) {
	b := newBench(t)
	_, err := b.client.Result(t.Context(), toolbatch.Batch{Calls: []toolbatch.Call{{}}})
	refused := as[*toolbatch.RefusedError](t, err)
	equal(t, "status", refused.Status, codes.InvalidArgument)
	equal(t, "name", refused.StatusName(), "INVALID_ARGUMENT")
	equal(t, "reason", refused.Reason, "INVALID_REQUEST")
	equal(t, "violations", fmt.Sprint(refused.Violations[0].Field, " ", refused.Violations[1].Field), "task_id call_list.calls[0].tool")
	_, err = b.client.GetBatch(t.Context(), "none")
	equal(t, "status", as[*toolbatch.RefusedError](t, err).Status, codes.NotFound)
	for _, err := range b.client.Watch(t.Context(), "none", 7) {
		equal(t, "status", as[*toolbatch.RefusedError](t, err).Status, codes.NotFound)
	}
}

func TestAPlanRunsNothing(t *testing.T) {
	b := newBench(t)
	planned, err := b.client.Plan(t.Context(), toolbatch.Batch{TaskID: "T", Calls: []toolbatch.Call{{Tool: "echo"}, {Tool: "none"}}})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "base tool", planned[0].BaseTool, "echo")
	equal(t, "reason", planned[1].Error.Reason, toolbatch.ReasonToolNotFound)
	if _, err := b.client.Result(t.Context(), toolbatch.Batch{ValidateOnly: true}); err == nil {
		t.Error("expected an error that says to use Plan")
	}
}

func TestVariablesStepsAndUsage(t *testing.T) {
	b := newBench(t)
	name, err := b.client.SetVariable(t.Context(), "T", "", map[string]any{"calls": []any{
		map[string]any{"tool": "large", "args": map[string]int{"bytes": 5 << 20}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	end, err := b.client.Result(t.Context(), toolbatch.Batch{TaskID: "T", CallsRef: "${" + name + "}.calls"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "omitted", end.Results[0].ResultOmitted, true)
	step, err := b.client.Step(t.Context(), end.Results[0].StepID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "bytes", step.ResultBytes, 5<<20+2)
	whole, err := b.client.StepResult(t.Context(), step.StepID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "whole", len(whole), 5<<20+2)
	rows, err := b.client.Usage(t.Context(), "T")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "usage", fmt.Sprint(rows[0].Tool, rows[0].Quantity, rows[0].Unit), "large1calls")
	outcome, err := b.client.CallTool(t.Context(), toolbatch.DirectCall{TaskID: "T", Tool: "fail"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "failure", outcome.Failure.Message, "it is locked")
}

func TestALargeResultOfAStepSurvivesCuts(t *testing.T) {
	b := newBench(t)
	end, err := b.client.Result(t.Context(), toolbatch.Batch{
		TaskID: "T", Calls: []toolbatch.Call{{Tool: "large", Args: map[string]int{"bytes": 5 << 20}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	proxy := livetest.Cut(t, b.server, 2<<20)
	whole, err := dial(t, proxy.URL).StepResult(t.Context(), end.Results[0].StepID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "whole", whole == toolbatch.JSON(`"`+strings.Repeat("x", 5<<20)+`"`), true)
	if made := proxy.Connections.Load(); made < 2 {
		t.Errorf("expected the connection to be cut, found %d connections", made)
	}
}
