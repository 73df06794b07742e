// Package toolbatch is the client of toolbatch, which runs a prepared list of tool calls as one durable step.
//
//	client, err := toolbatch.Dial("http://127.0.0.1:50051")
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	for event, err := range client.Run(ctx, toolbatch.Batch{TaskID: "T1", Calls: calls}) {
//		if err != nil {
//			return err
//		}
//		switch event := event.(type) {
//		case *toolbatch.CallFinished:
//			fmt.Println(event.Result.Tool, event.Result.Status)
//		}
//	}
//
// A stream that breaks is taken up again by itself, with no event lost or doubled. Leaving the loop, or the end of the context, ends the
// stream and no more than that: the batch goes on, and Client.Watch comes back to it.
//
// Package backend serves tools, package llm is for models, and toolbatchv1 has the stubs of the whole contract, for use with Client.Conn.
package toolbatch
