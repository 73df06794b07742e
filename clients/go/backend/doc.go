// Package backend serves tools to toolbatch: functions, each with a declared schema.
//
//	server := backend.New()
//	backend.Handle(server, backend.Tool{
//		Name:        "greet",
//		InputSchema: `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
//	}, func(ctx context.Context, call *backend.Call, args struct{ Name string }) (string, error) {
//		return "Hello, " + args.Name, nil
//	})
//	if err := server.ListenAndServe(context.Background(), "127.0.0.1:7001"); err != nil {
//		log.Fatal(err)
//	}
package backend
