package backend_test

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/toolbatch/toolbatch/clients/go/backend"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// holding is a backend with a tool that is held until it is let go, or cancelled.
type holding struct {
	server  *backend.Server
	held    chan struct{}
	release chan struct{}
	ended   chan error
}

func newHolding(options ...backend.Option) *holding {
	h := &holding{held: make(chan struct{}, 1), release: make(chan struct{}), ended: make(chan error, 1)}
	h.server = backend.New(append(options, quiet())...)
	backend.Handle(h.server, backend.Tool{Name: "hold"}, func(ctx context.Context, _ *backend.Call, _ struct{}) (string, error) {
		h.held <- struct{}{}
		select {
		case <-h.release:
			h.ended <- nil
			return "done", nil
		case <-ctx.Done():
			h.ended <- ctx.Err()
			return "", ctx.Err()
		}
	})
	return h
}

func connection(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func TestAStopLetsRunningCallsFinish(t *testing.T) {
	h := newHolding()
	running := livetest.Serve(t, h.server)
	to := connection(t, running.Address)
	watch, err := grpc_health_v1.NewHealthClient(to).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	expectHealth(t, watch, grpc_health_v1.HealthCheckResponse_SERVING)
	answers := make(chan *toolbatchv1.CallToolResponse, 1)
	go func() {
		answer, _ := toolbatchv1.NewToolServiceClient(to).CallTool(t.Context(), &toolbatchv1.CallToolRequest{Tool: "hold"})
		answers <- answer
	}()
	livetest.Receive(t, h.held, "the call")
	running.Tell()
	expectHealth(t, watch, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	close(h.release)
	equal(t, "result", livetest.Receive(t, answers, "the answer").GetResultJson(), `"done"`)
	if err := running.Stopped(t); err != nil {
		t.Fatal(err)
	}
}

func expectHealth(t *testing.T, watch grpc_health_v1.Health_WatchClient, expected grpc_health_v1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	answer, err := watch.Recv()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "health", answer.GetStatus(), expected)
}

func TestTheGracePeriodEndsRunningCalls(t *testing.T) {
	h := newHolding(backend.WithGrace(50 * time.Millisecond))
	running := livetest.Serve(t, h.server)
	to := toolbatchv1.NewToolServiceClient(connection(t, running.Address))
	failed := make(chan error, 1)
	go func() {
		_, err := to.CallTool(t.Context(), &toolbatchv1.CallToolRequest{Tool: "hold"})
		failed <- err
	}()
	livetest.Receive(t, h.held, "the call")
	running.Tell()
	equal(t, "the call's context", livetest.Receive(t, h.ended, "the cancellation"), context.Canceled)
	if livetest.Receive(t, failed, "the answer") == nil {
		t.Error("expected the call to be cut off")
	}
	if err := running.Stopped(t); err != nil {
		t.Fatal(err)
	}
}

func TestACallThatIsCancelledEndsItsContext(t *testing.T) {
	h := newHolding()
	to := toolbatchv1.NewToolServiceClient(connection(t, livetest.Serve(t, h.server).Address))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = to.CallTool(ctx, &toolbatchv1.CallToolRequest{Tool: "hold"}) }()
	livetest.Receive(t, h.held, "the call")
	cancel()
	equal(t, "the call's context", livetest.Receive(t, h.ended, "the cancellation"), context.Canceled)
}

func TestSIGTERMStops(t *testing.T) {
	listening := make(chan net.Addr, 1)
	h := newHolding(backend.WithListening(func(at net.Addr) { listening <- at }))
	stopped := make(chan error, 1)
	go func() { stopped <- h.server.ListenAndServe(t.Context(), "127.0.0.1:0") }()
	livetest.Receive(t, listening, "the address")
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := livetest.Receive(t, stopped, "the end"); err != nil {
		t.Fatal(err)
	}
	if err := h.server.ListenAndServe(t.Context(), "127.0.0.1:0"); err == nil {
		t.Error("expected a server to be run once")
	}
	if err := backend.New().ListenAndServe(t.Context(), "nowhere"); err == nil {
		t.Error("expected an error for an address that is none")
	}
}

func TestWhatIsNotServedIsUnimplemented(t *testing.T) {
	h := newHolding()
	to := toolbatchv1.NewToolServiceClient(connection(t, livetest.Serve(t, h.server).Address))
	_, err := to.CallTool(t.Context(), &toolbatchv1.CallToolRequest{Tool: "none"})
	equal(t, "call", status.Code(err), codes.Unimplemented)
	_, err = to.LookupCall(t.Context(), &toolbatchv1.LookupCallRequest{Tool: "hold"})
	equal(t, "lookup", status.Code(err), codes.Unimplemented)
	stream, err := to.CallToolWithProgress(t.Context(), &toolbatchv1.CallToolWithProgressRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	equal(t, "with progress", status.Code(err), codes.Unimplemented)
}
