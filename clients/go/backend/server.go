package backend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const (
	defaultGrace = 30 * time.Second
	// lastChance is how long calls may take to end once they are cancelled.
	lastChance = 5 * time.Second
	// maxMessageBytes is room for the largest args and what is around them.
	maxMessageBytes = (4 + 1) << 20
)

// Server serves tools. Handle declares them, all before Serve or ListenAndServe runs it, once.
type Server struct {
	tools         map[string]served
	listed        []*toolbatchv1.Tool
	wrong         []error
	grace         time.Duration
	log           *slog.Logger
	listening     func(net.Addr)
	serverOptions []grpc.ServerOption
	started       atomic.Bool
}

// Option changes how a server runs.
type Option func(*Server)

// WithGrace bounds how long running calls may finish after the server was told to stop, 0 or more; 30 s if not given. They are cancelled then.
func WithGrace(grace time.Duration) Option { return func(s *Server) { s.grace = max(grace, 0) } }

// WithLogger takes what is logged, such as errors of tools that are not declared; slog.Default() if not given.
func WithLogger(log *slog.Logger) Option { return func(s *Server) { s.log = log } }

// WithListening calls a function with the address once the server takes calls.
func WithListening(listening func(net.Addr)) Option {
	return func(s *Server) { s.listening = listening }
}

// WithServerOptions hands options to grpc-go, such as grpc.Creds for TLS and stats handlers for tracing.
func WithServerOptions(options ...grpc.ServerOption) Option {
	return func(s *Server) { s.serverOptions = append(s.serverOptions, options...) }
}

// New makes a server without tools.
func New(options ...Option) *Server {
	server := &Server{tools: map[string]served{}, grace: defaultGrace}
	for _, option := range options {
		option(server)
	}
	if server.log == nil {
		server.log = slog.Default()
	}
	return server
}

func (s *Server) add(tool Tool, handle handler) {
	err := tool.check()
	if _, taken := s.tools[tool.Name]; taken && err == nil {
		err = fmt.Errorf("tool %q: expected each name once, found it twice", tool.Name)
	}
	if err != nil {
		s.wrong = append(s.wrong, err)
		return
	}
	s.tools[tool.Name] = served{tool, handle}
	s.listed = append(s.listed, tool.proto())
}

// Serve serves until the context ends, then stops gracefully: its health is NOT_SERVING, it takes no new calls, running ones finish within the
// grace period and are cancelled after it. It gives nil then, or an error that names the tools whose functions do not end 5 s after that; they
// go on for as long as the process does. It closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if len(s.wrong) > 0 {
		return errors.Join(append([]error{fmt.Errorf("toolbatch backend: %d tools cannot be served", len(s.wrong)), listener.Close()}, s.wrong...)...)
	}
	if s.started.Swap(true) {
		return errors.Join(errors.New("toolbatch backend: expected a server that is run once, found one that was run before"), listener.Close())
	}
	watches := newWatches()
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(maxMessageBytes), grpc.ChainStreamInterceptor(watches.intercept)}
	server := grpc.NewServer(append(options, s.serverOptions...)...)
	service := &service{tools: s.tools, listed: s.listed, log: s.log}
	toolbatchv1.RegisterToolServiceServer(server, service)
	state := health.NewServer()
	state.SetServingStatus(toolbatchv1.ToolService_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, state)

	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if s.listening != nil {
		s.listening(listener.Addr())
	}
	select {
	case err := <-served:
		server.Stop()
		return fmt.Errorf("toolbatch backend: %w", err)
	case <-ctx.Done():
	}
	state.Shutdown()
	s.log.Info("stopping: running calls may finish", "grace", s.grace)
	watches.end()
	if !stopped(server, s.grace) {
		return fmt.Errorf("toolbatch backend: expected calls to end when they are cancelled; after %s these still run: %s", lastChance, service.names())
	}
	// It is told so where it was not serving yet.
	if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("toolbatch backend: %w", err)
	}
	return nil
}

// stopped stops a server gracefully, cancels what runs after the grace period, and tells whether all of it has ended then.
func stopped(server *grpc.Server, grace time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(grace):
	}
	server.Stop()
	select {
	case <-ended:
		return true
	case <-time.After(lastChance):
		return false
	}
}
