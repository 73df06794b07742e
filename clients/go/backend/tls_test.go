package backend_test

import (
	"context"
	"fmt"
	"testing"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/backend"
	"github.com/toolbatch/toolbatch/clients/go/internal/livetest"
	"google.golang.org/grpc"
)

func TestABackendIsReachedByTLS(t *testing.T) {
	files := livetest.NewAuthority(t)
	tools := backend.New(quiet(), backend.WithServerOptions(grpc.Creds(files.Demanding(t))))
	backend.Handle(tools, backend.Tool{Name: "greet"}, func(context.Context, *backend.Call, struct{}) (string, error) { return "Hello", nil })
	server := livetest.Start(t, livetest.Setup{Config: fmt.Sprintf("[[backends]]\nname = \"go\"\naddresses = [\"https://%s\"]\nca = %q\ncert = %q\nkey = %q\n",
		livetest.Serve(t, tools).Address, files.CA, files.Certificate, files.Key)})
	client, err := toolbatch.Dial(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	greeted, _ := call(t, client, "greet", nil, toolbatch.Batch{})
	equal(t, "result", greeted.Result, `"Hello"`)
}
