// Package livetest runs the real server for tests.
package livetest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// patience bounds every wait of a test.
const patience = 30 * time.Second

// Server is a real toolbatch server, in a folder of its own.
type Server struct {
	// URL is where clients find it.
	URL string
	// Address is where it listens: HOST:PORT, or unix:PATH.
	Address string

	test    testing.TB
	folder  string
	env     []string
	trusted credentials.TransportCredentials
	process *exec.Cmd
	log     *bytes.Buffer
}

// Setup is how a server is started.
type Setup struct {
	// Backend is the HOST:PORT of a tool backend; empty: none.
	Backend string
	// Config is TOML that is put after the rest.
	Config string
	// Env is put into its environment: NAME=VALUE.
	Env []string
	// Unix has it listen on a socket instead of a port.
	Unix bool
	// Trusted has it be reached by TLS, so.
	Trusted credentials.TransportCredentials
}

// Start starts a server, and waits until it serves. It is ended with the test.
func Start(test testing.TB, setup Setup) *Server {
	test.Helper()
	folder := test.TempDir()
	server := &Server{test: test, folder: folder, env: setup.Env, trusted: setup.Trusted}
	switch {
	case setup.Unix:
		// The path of a socket is short, that of a test's folder need not be.
		short, err := os.MkdirTemp("", "tb")
		check(test, err)
		test.Cleanup(func() { _ = os.RemoveAll(short) })
		server.Address = "unix:" + filepath.Join(short, "s")
		server.URL = server.Address
	case setup.Trusted != nil:
		server.Address = FreeAddress(test)
		server.URL = "https://" + server.Address
	default:
		server.Address = FreeAddress(test)
		server.URL = "http://" + server.Address
	}
	if server.trusted == nil {
		server.trusted = insecure.NewCredentials()
	}
	config := fmt.Sprintf("listen = %q\ndata_dir = %q\nshutdown_grace = \"100ms\"\n", server.Address, filepath.Join(folder, "data"))
	if setup.Backend != "" {
		config += fmt.Sprintf("[[backends]]\nname = \"go\"\naddresses = [\"http://%s\"]\n", setup.Backend)
	}
	check(test, os.WriteFile(filepath.Join(folder, "toolbatch.toml"), []byte(config+setup.Config), 0o600))
	server.start()
	test.Cleanup(server.Kill)
	return server
}

// Kill ends the server as a crash would.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop ends the server gracefully.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Restart starts the server again, after Kill or Stop.
func (s *Server) Restart() { s.start() }

func (s *Server) end(how os.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(how)
	_ = s.process.Wait()
	s.process = nil
	if s.test.Failed() {
		s.test.Logf("the server's log:\n%s", s.log)
	}
}

func (s *Server) start() {
	s.test.Helper()
	s.log = &bytes.Buffer{}
	s.process = exec.Command(binary(s.test), "serve", "--config", filepath.Join(s.folder, "toolbatch.toml"))
	s.process.Env = append(append(os.Environ(), "TOOLBATCH_LOG=info"), s.env...)
	s.process.Stderr = s.log
	check(s.test, s.process.Start())
	target := s.Address
	if !strings.HasPrefix(target, "unix:") {
		target = "passthrough:///" + target
	}
	WaitServing(s.test, target, s.trusted)
}

// WaitServing waits until a server says that it is healthy.
func WaitServing(test testing.TB, target string, trusted credentials.TransportCredentials) {
	test.Helper()
	quick := grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1, MaxDelay: 20 * time.Millisecond}}
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(trusted), grpc.WithConnectParams(quick))
	check(test, err)
	defer connection.Close()
	ctx, cancel := context.WithTimeout(test.Context(), patience)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
	check(test, err)
}

// FreeAddress gives a HOST:PORT that nobody listens on.
func FreeAddress(test testing.TB) string {
	test.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(test, err)
	defer listener.Close()
	return listener.Addr().String()
}

// Binary gives the server's programme: TOOLBATCH_BIN, else the debug build of this repository.
func binary(test testing.TB) string {
	test.Helper()
	if path := os.Getenv("TOOLBATCH_BIN"); path != "" {
		return path
	}
	_, here, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(here), "../../../../target/debug/toolbatch")
	if _, err := os.Stat(path); err != nil {
		test.Fatalf("there is no server at %s; build it, or name one in TOOLBATCH_BIN", path)
	}
	return path
}

func check(test testing.TB, err error) {
	test.Helper()
	if err != nil {
		test.Fatal(err)
	}
}
