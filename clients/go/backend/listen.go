package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// ListenAndServe serves at an address, HOST:PORT or unix:/PATH, until the context ends or the process gets SIGTERM or SIGINT; then it stops as Serve
// does. A second signal ends the process at once. A socket's file that nobody listens on is replaced.
func (s *Server) ListenAndServe(ctx context.Context, address string) error {
	listener, err := listen(ctx, address)
	if err != nil {
		return fmt.Errorf("toolbatch backend: %w", err)
	}
	ctx, restore := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer restore()
	context.AfterFunc(ctx, restore)
	return s.Serve(ctx, listener)
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	path, unix := strings.CutPrefix(address, "unix:")
	if !unix {
		return config.Listen(ctx, "tcp", address)
	}
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("address %q: expected HOST:PORT or unix:/PATH", address)
	}
	// The file outlives a process that is killed.
	other, err := net.Dial("unix", path)
	if err == nil {
		_ = other.Close()
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return config.Listen(ctx, "unix", path)
}
