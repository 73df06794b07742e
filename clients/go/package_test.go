package toolbatch_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolbatch/toolbatch/clients/go/backend"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
)

// user is a module of somebody else.
const user = `package main

import (
	"context"
	"errors"
	"fmt"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/backend"
	"github.com/toolbatch/toolbatch/clients/go/llm"
	"github.com/toolbatch/toolbatch/clients/go/toolbatchv1"
)

func main() {
	backend.Handle(backend.New(), backend.Tool{Name: "t"}, func(context.Context, *backend.Call, struct{}) (any, error) { return nil, nil })
	client, err := toolbatch.Dial("")
	if err != nil {
		panic(err)
	}
	summary, err := client.Result(context.Background(), toolbatch.Batch{TaskID: "T", Calls: []toolbatch.Call{{Tool: "greet"}}})
	if err != nil {
		panic(err)
	}
	_, err = toolbatchv1.NewTaskServiceClient(client.Conn()).ListSteps(context.Background(), &toolbatchv1.ListStepsRequest{TaskId: "T"})
	if err != nil {
		panic(err)
	}
	definitions, err := llm.Definitions(context.Background(), client, llm.OpenAI)
	var refused *toolbatch.RefusedError
	fmt.Println(summary.Status, summary.Results[0].Result, len(definitions) > 0, errors.As(err, &refused))
}
`

func TestTheModuleIsUsedFromOutside(t *testing.T) {
	tools := backend.New()
	backend.Handle(tools, backend.Tool{Name: "greet"}, func(context.Context, *backend.Call, struct{}) (string, error) { return "Hello", nil })
	server := livetest.Start(t, livetest.Setup{Backend: livetest.Serve(t, tools).Address})
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/toolbatch/toolbatch/clients/go"
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/user\n\ngo 1.26.0\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + here + "\n",
		"main.go": user,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := func(arguments ...string) string {
		command := exec.Command("go", arguments...)
		command.Dir = folder
		command.Env = append(os.Environ(), "TOOLBATCH_SERVER="+server.URL, "GOFLAGS=-mod=mod", "GOWORK=off")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", arguments, err, output)
		}
		return strings.TrimSpace(string(output))
	}
	outside("mod", "tidy")
	lines := strings.Split(outside("run", "."), "\n")
	equal(t, "output", lines[len(lines)-1], `completed "Hello" true false`)
}
