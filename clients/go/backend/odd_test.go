package backend_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/backend"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// panics is a value that cannot be written.
type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("unwritable") }

// serve serves tools, and gives a client of the contract.
func serve(t *testing.T, tools *backend.Server) toolbatchv1.ToolServiceClient {
	t.Helper()
	return toolbatchv1.NewToolServiceClient(connection(t, livetest.Serve(t, tools).Address))
}

func TestWhatPanicsAfterTheFunctionIsUnknown(t *testing.T) {
	tools := backend.New(quiet())
	backend.Handle(tools, backend.Tool{Name: "result", Lookup: func(context.Context, *backend.Call) (backend.Fate, error) {
		return backend.Landed(panics{}), nil
	}}, func(context.Context, *backend.Call, struct{}) (panics, error) { return panics{}, nil })
	backend.Handle(tools, backend.Tool{Name: "failure"}, func(context.Context, *backend.Call, struct{}) (any, error) {
		return nil, (*backend.Failure)(nil)
	})
	to := serve(t, tools)
	for _, tool := range []string{"result", "failure"} {
		_, err := to.CallTool(t.Context(), &toolbatchv1.CallToolRequest{Tool: tool})
		equal(t, tool, status.Code(err), codes.Unknown)
	}
	_, err := to.LookupCall(t.Context(), &toolbatchv1.LookupCallRequest{Tool: "result"})
	equal(t, "lookup", status.Code(err), codes.Unknown)
}

func TestTextThatIsNoUTF8IsMended(t *testing.T) {
	tools := backend.New(quiet())
	backend.Handle(tools, backend.Tool{Name: "fail", ReportsProgress: true}, func(_ context.Context, call *backend.Call, _ struct{}) (any, error) {
		call.Progress(1, 2, "half\xff")
		call.Usage("pages\xff", 1)
		return nil, backend.Fail("no such file: \xff", backend.WithCode("E\xff"))
	})
	backend.Handle(tools, backend.Tool{Name: "review"}, func(context.Context, *backend.Call, struct{}) (any, error) { return backend.Await{ID: "r\xff"}, nil })
	to := serve(t, tools)
	stream, err := to.CallToolWithProgress(t.Context(), &toolbatchv1.CallToolWithProgressRequest{Call: &toolbatchv1.CallToolRequest{Tool: "fail"}})
	if err != nil {
		t.Fatal(err)
	}
	progress, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "progress", progress.GetProgress().GetMessage(), "half\uFFFD")
	outcome, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "message", outcome.GetResponse().GetFailure().GetMessage(), "no such file: \uFFFD")
	equal(t, "code", outcome.GetResponse().GetFailure().GetCode(), "E\uFFFD")
	equal(t, "unit", outcome.GetResponse().GetUsage()[0].GetUnit(), "pages\uFFFD")
	reviewed, err := to.CallTool(t.Context(), &toolbatchv1.CallToolRequest{Tool: "review"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "review", reviewed.GetAwaiting().GetAwaitId(), "r\uFFFD")
}

func TestArgsAreTheClientsText(t *testing.T) {
	tools := backend.New(quiet())
	backend.Handle(tools, backend.Tool{Name: "text"}, func(_ context.Context, _ *backend.Call, args toolbatch.JSON) (toolbatch.JSON, error) {
		return args, nil
	})
	backend.Handle(tools, backend.Tool{Name: "value"}, func(_ context.Context, _ *backend.Call, args map[string]any) (int, error) { return len(args), nil })
	to := serve(t, tools)
	for args, expected := range map[string]string{` { "a" : 1.0 } `: ` { "a" : 1.0 } `, "": "{}", " \n": "{}"} {
		answer, err := to.CallTool(t.Context(), &toolbatchv1.CallToolRequest{Tool: "text", ArgsJson: args})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "text", answer.GetResultJson(), expected)
	}
	answer, err := to.CallTool(t.Context(), &toolbatchv1.CallToolRequest{Tool: "value", ArgsJson: " "})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "value", answer.GetResultJson(), "0")
}

func TestALookupTellsTheUsage(t *testing.T) {
	tools := backend.New(quiet())
	backend.Handle(tools, backend.Tool{Name: "scan", Lookup: func(_ context.Context, call *backend.Call) (backend.Fate, error) {
		call.Usage("pages", 3)
		return backend.Landed("found"), nil
	}}, func(context.Context, *backend.Call, struct{}) (any, error) { return nil, nil })
	answer, err := serve(t, tools).LookupCall(t.Context(), &toolbatchv1.LookupCallRequest{Tool: "scan"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "usage", answer.GetLanded().GetUsage()[0].GetQuantity(), 3)
}

func TestAServerThatIsToldToStopBeforeItStartsStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := backend.New(quiet()).Serve(ctx, listener); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFunctionThatDoesNotEndDoesNotKeepTheServer(t *testing.T) {
	t.Parallel()
	tools := backend.New(quiet(), backend.WithGrace(0))
	held, release := make(chan struct{}, 1), make(chan struct{})
	defer close(release)
	backend.Handle(tools, backend.Tool{Name: "deaf"}, func(context.Context, *backend.Call, struct{}) (any, error) {
		held <- struct{}{}
		<-release
		return nil, nil
	})
	running := livetest.Serve(t, tools)
	to := toolbatchv1.NewToolServiceClient(connection(t, running.Address))
	go func() { _, _ = to.CallTool(t.Context(), &toolbatchv1.CallToolRequest{Tool: "deaf"}) }()
	livetest.Receive(t, held, "the call")
	running.Tell()
	if err := running.Stopped(t); err == nil || !strings.Contains(err.Error(), "deaf") {
		t.Errorf("expected an error that names the tool, found %v", err)
	}
}

func TestASocketThatNobodyListensOnIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := backend.New(quiet()).ListenAndServe(t.Context(), "unix:"+path); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("expected an error, as somebody listens, found %v", err)
	}
	_ = left.Close()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	tools := backend.New(quiet(), backend.WithListening(func(net.Addr) { stop() }))
	if err := tools.ListenAndServe(ctx, "unix:"+path); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"unix:", "unix:s"} {
		if err := backend.New(quiet()).ListenAndServe(t.Context(), address); err == nil || !strings.Contains(err.Error(), "unix:/PATH") {
			t.Errorf("expected an error that says what works, found %v", err)
		}
	}
}
