package toolbatch

import (
	"context"
	"errors"
	"iter"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
)

// Run starts a batch and gives out its events, each once, in their order: BatchStarted first, BatchFinished last. The batch starts when the loop
// does. A stream that breaks is taken up again by itself.
//
// An error is the last thing given out, with a nil event: a *RefusedError; an *UnavailableError where no stream was open for as long as the client
// goes on trying (WithGiveUpAfter); the context's own (errors.Is context.Canceled, context.DeadlineExceeded); or ErrClosed. After all but the
// first, and after a break out of the loop, the batch goes on. Ranging over the same value again attaches to the same batch, from its first event.
func (c *Client) Run(ctx context.Context, batch Batch) iter.Seq2[Event, error] {
	request, err := batch.request()
	return func(yield func(Event, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		(&follower{client: c, request: request, batchID: request.GetBatchId(), patience: c.newPatience()}).run(ctx, yield)
	}
}

// Watch gives out a batch's events after a sequence, 0 for all of them, until its last one; then, and where nothing was left, it ends. Errors are
// those of Run.
func (c *Client) Watch(ctx context.Context, batchID string, afterSequence uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		(&follower{client: c, batchID: batchID, after: afterSequence, last: afterSequence, patience: c.newPatience()}).run(ctx, yield)
	}
}

// Result runs a batch and gives its summary alone. A batch whose calls fail is no error. Errors are those of Run.
func (c *Client) Result(ctx context.Context, batch Batch) (Summary, error) {
	if batch.ValidateOnly {
		return Summary{}, errors.New("toolbatch: Result: expected a batch that runs, found ValidateOnly; use Plan")
	}
	for event, err := range c.Run(ctx, batch) {
		if err != nil {
			return Summary{}, err
		}
		if finished, ok := event.(*BatchFinished); ok {
			return finished.Summary, nil
		}
	}
	return Summary{}, errIncomplete
}

// Plan has a batch checked, and gives what it would do. Nothing runs. Errors are those of Run.
func (c *Client) Plan(ctx context.Context, batch Batch) ([]PlannedCall, error) {
	batch.ValidateOnly = true
	for event, err := range c.Run(ctx, batch) {
		if err != nil {
			return nil, err
		}
		if planned, ok := event.(*BatchPlanned); ok {
			return planned.Calls, nil
		}
	}
	return nil, errIncomplete
}

// GetBatch gives how a batch went, or what is known so far while it runs. Errors: *RefusedError, *UnavailableError, the context's, ErrClosed.
func (c *Client) GetBatch(ctx context.Context, batchID string) (Summary, error) {
	response, err := read(ctx, c, func(ctx context.Context) (*toolbatchv1.GetBatchResponse, error) {
		return c.batches.GetBatch(ctx, &toolbatchv1.GetBatchRequest{BatchId: batchID})
	})
	return summaryOf(response.GetBatch().GetSummary()), err
}

// CancelBatch stops a batch: no further call of it starts. With abortRunning those that run are cancelled, too, their outcome unknown. It gives
// the batch as it is then, BatchRunning while calls still run. It is not repeated by itself, and safe to repeat. Errors: *RefusedError,
// *UnavailableError, the context's, ErrClosed.
func (c *Client) CancelBatch(ctx context.Context, batchID string, abortRunning bool) (Summary, error) {
	response, err := c.batches.CancelBatch(ctx, &toolbatchv1.CancelBatchRequest{BatchId: batchID, AbortRunning: abortRunning})
	if err != nil {
		return Summary{}, c.once(ctx, err)
	}
	return summaryOf(response.GetBatch().GetSummary()), nil
}
