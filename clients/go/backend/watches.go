package backend

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// lastWord is how long a watch of the health goes on after the server is told to stop, so that it tells of it.
const lastWord = 100 * time.Millisecond

// watches are the streams that watch the server's health. They have no end of their own, so a graceful stop would wait for them in vain.
type watches struct {
	context context.Context
	cancel  context.CancelFunc
}

func newWatches() *watches {
	ctx, cancel := context.WithCancel(context.Background())
	return &watches{ctx, cancel}
}

// end ends them all, once they told that the server stops.
func (w *watches) end() { time.AfterFunc(lastWord, w.cancel) }

func (w *watches) intercept(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.FullMethod != grpc_health_v1.Health_Watch_FullMethodName {
		return handle(server, stream)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(w.context, cancel)()
	return handle(server, &watch{stream, ctx})
}

// watch is a stream with a context that ends earlier.
type watch struct {
	grpc.ServerStream
	context context.Context
}

// Context gives the one that ends earlier.
func (w *watch) Context() context.Context { return w.context }
