// Package examples_test runs the examples against the real server.
package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
	"google.golang.org/grpc/credentials/insecure"
)

func build(t *testing.T, example string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), example)
	if output, err := exec.Command("go", "build", "-o", program, "./"+example).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return program
}

func run(t *testing.T, program, server, input string) string {
	t.Helper()
	command := exec.Command(program)
	command.Env = append(os.Environ(), "TOOLBATCH_SERVER="+server)
	command.Stdin = strings.NewReader(input)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(output)
}

func TestExamples(t *testing.T) {
	address := livetest.FreeAddress(t)
	greeter := exec.Command(build(t, "greeter"), address)
	greeter.Stderr = os.Stderr
	if err := greeter.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = greeter.Process.Signal(syscall.SIGTERM)
		if err := greeter.Wait(); err != nil {
			t.Errorf("expected the backend to stop with code 0: %v", err)
		}
	}()
	livetest.WaitServing(t, "passthrough:///"+address, insecure.NewCredentials())
	server := livetest.Start(t, livetest.Setup{Backend: address})

	first := build(t, "first_batch")
	lines := strings.Split(strings.TrimSpace(run(t, first, server.URL, "")), "\n")
	if !slices.Contains(lines, `greet-Ada completed {"greeting":"Hello, Ada"}`) || lines[len(lines)-1] != "completed 3 of 3" {
		t.Errorf("expected three greetings, found %q", lines)
	}
	if again := run(t, first, server.URL, ""); !strings.Contains(again, "greet-Ada skipped") {
		t.Errorf("expected the second run to skip what is done, found %q", again)
	}

	message := `{"content":[{"type":"text","text":"I greet."},{"type":"tool_use","id":"t-1","name":"greet","input":{"name":"Ada"}}]}`
	expected := `[{"type":"tool_result","tool_use_id":"t-1","content":"{\"greeting\":\"Hello, Ada\"}"}]` + "\n"
	if found := run(t, build(t, "model"), server.URL, message); found != expected {
		t.Errorf("expected %s, found %s", expected, found)
	}
}
