package toolbatch_test

import (
	"errors"
	"testing"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// serveOne serves streams with one event and no end, and tells of each that the client ended.
func serveOne(t *testing.T) (url string, ended chan struct{}) {
	t.Helper()
	ended = make(chan struct{}, 4)
	return (&oddServer{}).serve(t, grpc.StreamInterceptor(func(_ any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		_ = stream.SendMsg(&toolbatchv1.ExecuteBatchResponse{Event: started(1)})
		<-stream.Context().Done()
		ended <- struct{}{}
		return stream.Context().Err()
	})), ended
}

func TestLeavingTheLoopEndsTheStream(t *testing.T) {
	url, ended := serveOne(t)
	for range dial(t, url).Run(t.Context(), toolbatch.Batch{}) {
		break
	}
	livetest.Receive(t, ended, "the end of the stream")
}

func TestACloseEndsWhatIsOpenAndWhatIsAskedAfterIt(t *testing.T) {
	url, ended := serveOne(t)
	client := dial(t, url)
	begun := time.Now()
	var last error
	for event, err := range client.Run(t.Context(), toolbatch.Batch{}) {
		last = err
		if event != nil {
			_ = client.Close()
		}
	}
	livetest.Receive(t, ended, "the end of the stream")
	_, read := client.Step(t.Context(), "s")
	_, called := client.CallTool(t.Context(), toolbatch.DirectCall{})
	for what, err := range map[string]error{"a stream": last, "a read": read, "a call": called} {
		if !errors.Is(err, toolbatch.ErrClosed) {
			t.Errorf("%s: expected ErrClosed, found %v", what, err)
		}
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("expected an end at once, found it after %s", took)
	}
}

func TestACloseEndsAWait(t *testing.T) {
	tried := make(chan struct{}, 1)
	odd := &oddServer{watch: func(int32, *toolbatchv1.WatchBatchRequest, func(*toolbatchv1.BatchEvent)) error {
		tried <- struct{}{}
		return shortage(codes.Unavailable, time.Hour)
	}}
	client := dial(t, odd.serve(t))
	ended := make(chan error, 1)
	go func() {
		for _, err := range client.Watch(t.Context(), "b", 0) {
			ended <- err
		}
	}()
	livetest.Receive(t, tried, "the try")
	_ = client.Close()
	if err := livetest.Receive(t, ended, "the end"); !errors.Is(err, toolbatch.ErrClosed) {
		t.Errorf("expected ErrClosed, found %v", err)
	}
}
