package toolbatch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
	"google.golang.org/grpc/credentials/insecure"
)

// program gives a block of README.md as a whole program.
func program(t *testing.T, heading, imports, before string) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n## " + heading + "\n\n```go\n(.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatalf("README.md has no block of Go under %q", heading)
	}
	return "package main\n\nimport (" + imports + ")\n\nfunc main() {\n" + before + string(found[1]) + "}\n"
}

// build builds a program within this module.
func build(t *testing.T, name, text string) string {
	t.Helper()
	folder := t.TempDir()
	source, binary := filepath.Join(folder, "main.go"), filepath.Join(folder, name)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, output, text)
	}
	return binary
}

func TestWhatTheREADMEShowsRuns(t *testing.T) {
	const address = "127.0.0.1:7001"
	const module = `"github.com/toolbatch/toolbatch/clients/go`
	free := livetest.FreeAddress(t)
	served := strings.Replace(program(t, "A tool backend", `"context";"log";`+module+`/backend"`, ""), address, free, 1)
	asked := program(t, "A first batch", `"context";"fmt";"log";toolbatch `+module+`"`, "ctx := context.Background()\n")

	tools := exec.Command(build(t, "backend", served))
	tools.Stderr = os.Stderr
	if err := tools.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = tools.Process.Signal(syscall.SIGTERM)
		if err := tools.Wait(); err != nil {
			t.Errorf("expected the backend to stop with code 0: %v", err)
		}
	}()
	livetest.WaitServing(t, "passthrough:///"+free, insecure.NewCredentials())
	server := livetest.Start(t, livetest.Setup{Backend: free})
	first := exec.Command(build(t, "first", asked))
	first.Env = append(os.Environ(), "TOOLBATCH_SERVER="+server.URL)
	output, err := first.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	equal(t, "output", string(output), "greet completed \"Hello, Ada\"\n")
}
