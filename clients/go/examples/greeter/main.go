// Command greeter serves one tool, at the address that is given.
package main

import (
	"context"
	"log"
	"os"

	"github.com/toolbatch/toolbatch/clients/go/backend"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("expected one argument, the address to serve at, such as 127.0.0.1:7001")
	}
	server := backend.New()
	backend.Handle(server, backend.Tool{
		Name:        "greet",
		Description: "Greets someone by name",
		InputSchema: `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
	}, func(_ context.Context, _ *backend.Call, args struct{ Name string }) (map[string]string, error) {
		if args.Name == "" {
			return nil, backend.Fail("there is nobody to greet", backend.WithCode("NOBODY"))
		}
		return map[string]string{"greeting": "Hello, " + args.Name}, nil
	})
	if err := server.ListenAndServe(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
