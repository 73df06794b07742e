package toolbatch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/grpc/metadata"
)

// errIncomplete is a stream that ended, or left an event out, before the batch's last event.
var errIncomplete = errors.New("the stream ended before the batch's last event")

// errMissing is a stream in which an event is missing.
var errMissing = errors.New("an event is missing from the stream")

// follower gives out a batch's events, each once, over any number of streams.
type follower struct {
	client *Client
	// request starts the batch; nil where it is only watched.
	request  *toolbatchv1.ExecuteBatchRequest
	batchID  string
	patience *patience
	// after is where it was to begin, last what was seen since.
	after, last uint64
}

// source is what both kinds of streams have in common.
type source interface {
	header() (metadata.MD, error)
	next() (*toolbatchv1.BatchEvent, error)
}

// run gives out events until the last one, until whoever takes them stops, or until it meets an error, which it gives out.
func (f *follower) run(ctx context.Context, yield func(Event, error) bool) {
	for {
		done, err := f.try(ctx, yield)
		if done {
			return
		}
		if ended := f.client.endOf(ctx, err); ended != nil {
			yield(nil, f.interrupted(ended))
			return
		}
		if !errors.Is(err, errIncomplete) && !errors.Is(err, errMissing) && !isLost(err) {
			yield(nil, refusal(err))
			return
		}
		switch waited := f.patience.pause(ctx, err); {
		case errors.Is(waited, errGaveUp):
			yield(nil, &UnavailableError{BatchID: f.batchID, LastSequence: f.last, waited: f.patience.limit, cause: f.patience.met})
			return
		case waited != nil:
			yield(nil, f.interrupted(waited))
			return
		}
	}
}

// try follows one stream. It is done after the last event, and where nobody takes any more.
func (f *follower) try(ctx context.Context, yield func(Event, error) bool) (done bool, err error) {
	ctx, answered, cancel := f.patience.bounded(ctx)
	defer cancel()
	stream, err := f.open(ctx)
	if err != nil {
		return false, err
	}
	if header, err := stream.header(); err != nil {
		return false, err
	} else if header != nil {
		answered()
		defer f.patience.closed()
	}
	for fresh := true; ; fresh = false {
		event, err := stream.next()
		if errors.Is(err, io.EOF) {
			if fresh && f.nothingIsLeft() {
				return true, nil
			}
			return false, errIncomplete
		} else if err != nil {
			return false, err
		}
		if sequence := event.GetSequence(); sequence > 0 {
			if sequence <= f.last {
				continue
			}
			if sequence > f.last+1 {
				return false, fmt.Errorf("%w: expected sequence %d, found %d", errMissing, f.last+1, sequence)
			}
			f.last = sequence
		}
		f.patience.progressed()
		known := eventOf(event)
		if known == nil {
			continue
		}
		if !yield(known, nil) || f.isLast(known) {
			return true, nil
		}
	}
}

// open asks for the batch where no event of it was seen, and for the rest of its events otherwise.
func (f *follower) open(ctx context.Context) (source, error) {
	if f.request != nil && f.last == 0 {
		stream, err := f.client.batches.ExecuteBatch(ctx, f.request)
		return executing{stream}, err
	}
	stream, err := f.client.batches.WatchBatch(ctx, &toolbatchv1.WatchBatchRequest{BatchId: f.batchID, AfterSequence: f.last})
	return watching{stream}, err
}

func (f *follower) isLast(event Event) bool {
	switch event.(type) {
	case *BatchFinished:
		return true
	case *BatchPlanned:
		return f.request.GetValidateOnly()
	}
	return false
}

// nothingIsLeft tells what it means that the server ended a stream in order and without any event: the one that it was to begin after was the last.
func (f *follower) nothingIsLeft() bool {
	return f.request == nil && f.after > 0 && f.last == f.after
}

func (f *follower) interrupted(ended error) error {
	return fmt.Errorf("toolbatch: no longer following batch %s, after event %d; it goes on: %w", f.batchID, f.last, ended)
}

type executing struct {
	stream toolbatchv1.BatchService_ExecuteBatchClient
}

func (e executing) header() (metadata.MD, error) { return e.stream.Header() }

func (e executing) next() (*toolbatchv1.BatchEvent, error) {
	message, err := e.stream.Recv()
	return message.GetEvent(), err
}

type watching struct {
	stream toolbatchv1.BatchService_WatchBatchClient
}

func (w watching) header() (metadata.MD, error) { return w.stream.Header() }

func (w watching) next() (*toolbatchv1.BatchEvent, error) {
	message, err := w.stream.Recv()
	return message.GetEvent(), err
}
