package toolbatch_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/durationpb"
)

// oddServer answers as a server of today never does: a newer one, one behind a proxy that loses things, one that is short of room.
type oddServer struct {
	toolbatchv1.UnimplementedBatchServiceServer
	execute func(try int32, request *toolbatchv1.ExecuteBatchRequest, send func(*toolbatchv1.BatchEvent)) error
	watch   func(try int32, request *toolbatchv1.WatchBatchRequest, send func(*toolbatchv1.BatchEvent)) error
	tries   atomic.Int32
}

func (o *oddServer) ExecuteBatch(request *toolbatchv1.ExecuteBatchRequest, stream toolbatchv1.BatchService_ExecuteBatchServer) error {
	return o.execute(o.tries.Add(1), request, func(event *toolbatchv1.BatchEvent) {
		_ = stream.Send(&toolbatchv1.ExecuteBatchResponse{Event: event})
	})
}

func (o *oddServer) WatchBatch(request *toolbatchv1.WatchBatchRequest, stream toolbatchv1.BatchService_WatchBatchServer) error {
	return o.watch(o.tries.Add(1), request, func(event *toolbatchv1.BatchEvent) {
		_ = stream.Send(&toolbatchv1.WatchBatchResponse{Event: event})
	})
}

// start serves it, and gives a client with a few seconds' patience.
func (o *oddServer) start(t *testing.T) *toolbatch.Client {
	t.Helper()
	return dial(t, o.serve(t), toolbatch.WithGiveUpAfter(5*time.Second))
}

func (o *oddServer) serve(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	toolbatchv1.RegisterBatchServiceServer(server, o)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String()
}

func started(sequence uint64) *toolbatchv1.BatchEvent {
	return &toolbatchv1.BatchEvent{BatchId: "b", Sequence: sequence, Event: &toolbatchv1.BatchEvent_BatchStarted{BatchStarted: &toolbatchv1.BatchStarted{}}}
}

func resumed(sequence uint64) *toolbatchv1.BatchEvent {
	return &toolbatchv1.BatchEvent{BatchId: "b", Sequence: sequence, Event: &toolbatchv1.BatchEvent_BatchResumed{BatchResumed: &toolbatchv1.BatchResumed{}}}
}

func finished(sequence uint64, status toolbatchv1.BatchStatus) *toolbatchv1.BatchEvent {
	return &toolbatchv1.BatchEvent{BatchId: "b", Sequence: sequence, Event: &toolbatchv1.BatchEvent_BatchFinished{
		BatchFinished: &toolbatchv1.BatchFinished{Summary: &toolbatchv1.BatchSummary{Status: status}},
	}}
}

var completed = toolbatchv1.BatchStatus_BATCH_STATUS_COMPLETED

func TestUnknownKindsArePassedOverAndUnknownEnumsKept(t *testing.T) {
	unknown := &toolbatchv1.BatchEvent{BatchId: "b", Sequence: 2}
	unknown.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 900, protowire.BytesType), []byte{}))
	odd := &oddServer{execute: func(_ int32, _ *toolbatchv1.ExecuteBatchRequest, send func(*toolbatchv1.BatchEvent)) error {
		send(started(1))
		send(unknown)
		send(finished(3, 77))
		return nil
	}}
	var kinds []string
	for event, err := range odd.start(t).Run(t.Context(), toolbatch.Batch{}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, fmt.Sprintf("%T %d", event, event.About().Sequence))
		if end, ok := event.(*toolbatch.BatchFinished); ok {
			equal(t, "status", end.Summary.Status.String(), "unknown")
			equal(t, "number", end.Summary.Status, 77)
		}
	}
	equal(t, "events", fmt.Sprint(kinds), "[*toolbatch.BatchStarted 1 *toolbatch.BatchFinished 3]")
}

func TestDoublesAreDroppedAndGapsAskedForAgain(t *testing.T) {
	var after []uint64
	odd := &oddServer{
		execute: func(_ int32, _ *toolbatchv1.ExecuteBatchRequest, send func(*toolbatchv1.BatchEvent)) error {
			send(started(1))
			send(started(1))
			send(resumed(3))
			return nil
		},
		watch: func(try int32, request *toolbatchv1.WatchBatchRequest, send func(*toolbatchv1.BatchEvent)) error {
			after = append(after, request.GetAfterSequence())
			if try == 2 {
				send(resumed(2))
				return status.Error(codes.Canceled, "not the caller's")
			}
			send(resumed(3))
			send(finished(4, completed))
			return nil
		},
	}
	events := collect(t, 0, odd.start(t).Run(t.Context(), toolbatch.Batch{}))
	equal(t, "events", len(events), 4)
	equal(t, "asked after", fmt.Sprint(after), "[1 2]")
}

// shortage is a status that says when to come back.
func shortage(code codes.Code, delay time.Duration) error {
	short, err := status.New(code, "short of room").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	return errors.Join(err, short.Err())
}

func TestAShortageWithARetryInfoIsWaitedOut(t *testing.T) {
	const delay = 300 * time.Millisecond
	var ids []string
	odd := &oddServer{execute: func(try int32, request *toolbatchv1.ExecuteBatchRequest, send func(*toolbatchv1.BatchEvent)) error {
		ids = append(ids, request.GetBatchId())
		if try == 1 {
			return shortage(codes.ResourceExhausted, delay)
		}
		send(started(1))
		send(finished(2, completed))
		return nil
	}}
	begun := time.Now()
	collect(t, 0, odd.start(t).Run(t.Context(), toolbatch.Batch{}))
	if took := time.Since(begun); took < delay {
		t.Errorf("expected a wait of %s at least, found %s", delay, took)
	}
	if len(ids) != 2 || ids[0] != ids[1] || len(ids[0]) != 36 {
		t.Errorf("expected one id of the client's own in both requests, found %q", ids)
	}
}

func TestAShortageWithoutARetryInfoIsAnError(t *testing.T) {
	odd := &oddServer{execute: func(int32, *toolbatchv1.ExecuteBatchRequest, func(*toolbatchv1.BatchEvent)) error {
		return status.Error(codes.ResourceExhausted, "too large")
	}}
	_, err := odd.start(t).Result(t.Context(), toolbatch.Batch{})
	equal(t, "status", as[*toolbatch.RefusedError](t, err).Status, codes.ResourceExhausted)
	equal(t, "tries", odd.tries.Load(), 1)
}

func TestAStreamThatEndsWithoutEventsIsOverForAWatchThatBeganThere(t *testing.T) {
	var after []uint64
	odd := &oddServer{
		execute: func(_ int32, _ *toolbatchv1.ExecuteBatchRequest, send func(*toolbatchv1.BatchEvent)) error {
			send(started(1))
			return nil
		},
		watch: func(try int32, request *toolbatchv1.WatchBatchRequest, send func(*toolbatchv1.BatchEvent)) error {
			after = append(after, request.GetAfterSequence())
			if try == 3 {
				send(finished(2, completed))
			}
			return nil
		},
	}
	client := odd.start(t)
	collect(t, 0, client.Run(t.Context(), toolbatch.Batch{}))
	for event, err := range client.Watch(t.Context(), "b", 7) {
		t.Errorf("expected nothing, found %v, %v", event, err)
	}
	equal(t, "asked after", fmt.Sprint(after), "[1 1 7]")
}

func TestAMessageWithoutAnEventIsPassedOver(t *testing.T) {
	odd := &oddServer{execute: func(_ int32, _ *toolbatchv1.ExecuteBatchRequest, send func(*toolbatchv1.BatchEvent)) error {
		send(nil)
		send(&toolbatchv1.BatchEvent{Sequence: 1, Event: &toolbatchv1.BatchEvent_CallFinished{}})
		send(&toolbatchv1.BatchEvent{Sequence: 2, Event: &toolbatchv1.BatchEvent_BatchFinished{}})
		return nil
	}}
	equal(t, "events", len(collect(t, 0, odd.start(t).Run(t.Context(), toolbatch.Batch{}))), 2)
}

func TestAnAnswerThatNeverBeginsIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	odd := &oddServer{execute: func(int32, *toolbatchv1.ExecuteBatchRequest, func(*toolbatchv1.BatchEvent)) error {
		<-release
		return nil
	}}
	client := dial(t, odd.serve(t), toolbatch.WithGiveUpAfter(200*time.Millisecond))
	_, err := client.Result(t.Context(), toolbatch.Batch{BatchID: "b"})
	equal(t, "batch", as[*toolbatch.UnavailableError](t, err).BatchID, "b")
	if text := err.Error(); !strings.HasSuffix(text, "no answer") {
		t.Errorf("expected to be told that no answer came, found %v", text)
	}
}

func TestGivingUpTellsWhatWasMetBeforeTheSilence(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	odd := &oddServer{execute: func(try int32, _ *toolbatchv1.ExecuteBatchRequest, _ func(*toolbatchv1.BatchEvent)) error {
		if try == 1 {
			return status.Error(codes.Unavailable, "the certificate is not trusted")
		}
		<-release
		return nil
	}}
	_, err := dial(t, odd.serve(t), toolbatch.WithGiveUpAfter(500*time.Millisecond)).Result(t.Context(), toolbatch.Batch{})
	as[*toolbatch.UnavailableError](t, err)
	if text := err.Error(); !strings.Contains(text, "the certificate is not trusted") {
		t.Errorf("expected what the first try met, found %v", text)
	}
}

func TestUnsetOptionsAreNotSent(t *testing.T) {
	var requests []*toolbatchv1.ExecuteBatchRequest
	odd := &oddServer{execute: func(_ int32, request *toolbatchv1.ExecuteBatchRequest, send func(*toolbatchv1.BatchEvent)) error {
		requests = append(requests, request)
		send(started(1))
		send(finished(2, completed))
		return nil
	}}
	client := odd.start(t)
	for _, batch := range []toolbatch.Batch{{}, {StopOnError: new(false)}, {Retry: &toolbatch.RetryPolicy{InitialBackoff: new(time.Duration(0))}}} {
		if _, err := client.Result(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "no options", requests[0].Options == nil, true)
	equal(t, "stop_on_error", requests[1].Options.StopOnError != nil && !*requests[1].Options.StopOnError, true)
	equal(t, "include_results", requests[1].Options.IncludeResults == nil, true)
	equal(t, "initial_backoff", requests[2].Options.Retry.InitialBackoff != nil && requests[2].Options.Retry.MaxBackoff == nil, true)
}

func TestWhoAsksIsSaid(t *testing.T) {
	seen := make(chan metadata.MD, 1)
	url := (&oddServer{}).serve(t, grpc.StreamInterceptor(func(_ any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		who, _ := metadata.FromIncomingContext(stream.Context())
		seen <- who
		return status.Error(codes.PermissionDenied, "no")
	}))
	client := dial(t, url, toolbatch.WithToken("secret"), toolbatch.WithTenant("acme"))
	_, err := client.Result(t.Context(), toolbatch.Batch{})
	as[*toolbatch.RefusedError](t, err)
	who := <-seen
	equal(t, "token", fmt.Sprint(who["authorization"]), "[Bearer secret]")
	equal(t, "tenant", fmt.Sprint(who["toolbatch-tenant"]), "[acme]")
}
