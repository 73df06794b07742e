package backend

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// service is the contract's ToolService over the tools of a server.
type service struct {
	toolbatchv1.UnimplementedToolServiceServer
	tools  map[string]served
	listed []*toolbatchv1.Tool
	log    *slog.Logger
	// running are the calls that have not ended, each a *Call.
	running sync.Map
}

// ListTools gives all tools on one page.
func (s *service) ListTools(context.Context, *toolbatchv1.ListToolsRequest) (*toolbatchv1.ListToolsResponse, error) {
	return &toolbatchv1.ListToolsResponse{Tools: s.listed}, nil
}

// CallTool runs a tool.
func (s *service) CallTool(ctx context.Context, request *toolbatchv1.CallToolRequest) (*toolbatchv1.CallToolResponse, error) {
	return s.run(ctx, request, nil)
}

// CallToolWithProgress runs a tool and tells its progress on the way.
func (s *service) CallToolWithProgress(request *toolbatchv1.CallToolWithProgressRequest, stream toolbatchv1.ToolService_CallToolWithProgressServer) error {
	outcome, err := s.run(stream.Context(), request.GetCall(), func(progress *toolbatchv1.ToolProgress) {
		// Where nobody reads any more the call's context ends, too.
		_ = stream.Send(&toolbatchv1.CallToolWithProgressResponse{Event: &toolbatchv1.CallToolWithProgressResponse_Progress{Progress: progress}})
	})
	if err != nil {
		return err
	}
	return stream.Send(&toolbatchv1.CallToolWithProgressResponse{Event: &toolbatchv1.CallToolWithProgressResponse_Response{Response: outcome}})
}

// LookupCall tells what became of an earlier attempt.
func (s *service) LookupCall(ctx context.Context, request *toolbatchv1.LookupCallRequest) (*toolbatchv1.LookupCallResponse, error) {
	tool, err := s.find(request.GetTool())
	if err != nil {
		return nil, err
	}
	if tool.tool.Lookup == nil {
		return nil, status.Errorf(codes.Unimplemented, "tool %q cannot tell what became of a call", tool.tool.Name)
	}
	call := callOf(request.GetTool(), request.GetArgsJson(), request.GetContext())
	answer, err := guarded(func() (*toolbatchv1.LookupCallResponse, error) {
		fate, err := tool.tool.Lookup(ctx, call)
		if err != nil {
			return nil, err
		}
		return fate.response()
	})
	usage := call.end()
	if err != nil {
		return nil, s.unknown(ctx, "lookup failed", call, err)
	}
	if landed := answer.GetLanded(); landed != nil {
		landed.Usage = usage
	}
	return answer, nil
}

func (s *service) run(ctx context.Context, request *toolbatchv1.CallToolRequest, progress func(*toolbatchv1.ToolProgress)) (*toolbatchv1.CallToolResponse, error) {
	tool, err := s.find(request.GetTool())
	if err != nil {
		return nil, err
	}
	call := callOf(request.GetTool(), request.GetArgsJson(), request.GetContext())
	call.progress = progress
	s.running.Store(call, nil)
	defer s.running.Delete(call)
	answer, err := guarded(func() (*toolbatchv1.CallToolResponse, error) { return response(tool.handle(ctx, call)) })
	usage := call.end()
	if err != nil {
		return nil, s.unknown(ctx, "tool failed without a declared failure", call, err)
	}
	answer.Usage = usage
	return answer, nil
}

// names gives the tools of the calls that have not ended.
func (s *service) names() string {
	var names []string
	s.running.Range(func(call, _ any) bool {
		names = append(names, call.(*Call).Tool)
		return true
	})
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// find gives a tool; UNIMPLEMENTED says that nothing ran.
func (s *service) find(name string) (served, error) {
	tool, ok := s.tools[name]
	if !ok {
		return served{}, status.Errorf(codes.Unimplemented, "tool %q is not served here", name)
	}
	return tool, nil
}

// unknown logs an error that says nothing certain, and gives the status that is sent in its place.
func (s *service) unknown(ctx context.Context, what string, call *Call, err error) error {
	s.log.ErrorContext(ctx, what, "tool", call.Tool, "task_id", call.TaskID, "step_id", call.StepID, "attempt", call.Attempt, "error", err)
	return status.Errorf(codes.Unknown, "tool %q failed in a way that it did not declare; its log has the details", call.Tool)
}

// panicked is a panic of what a tool brings, with the stack where it happened.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// guarded gives a panic as an error: of a tool's function, or of what writes its result.
func guarded[Result any](function func() (Result, error)) (result Result, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicked{value, debug.Stack()}
		}
	}()
	return function()
}
