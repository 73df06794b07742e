// Command first_batch runs three calls side by side, and shows each as it lands.
package main

import (
	"context"
	"fmt"
	"log"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
)

func main() {
	client, err := toolbatch.Dial("") // TOOLBATCH_SERVER, else http://127.0.0.1:50051
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	batch := toolbatch.Batch{TaskID: "greetings", Mode: toolbatch.Parallel, StopOnError: new(false)}
	for _, name := range []string{"Ada", "Grace", "Edsger"} {
		batch.Calls = append(batch.Calls, toolbatch.Call{Tool: "greet", Key: "greet-" + name, Args: map[string]string{"name": name}})
	}
	for event, err := range client.Run(context.Background(), batch) {
		if err != nil {
			log.Fatal(err)
		}
		switch event := event.(type) {
		case *toolbatch.CallFinished:
			fmt.Println(event.Result.Key, event.Result.Status, event.Result.Result)
		case *toolbatch.BatchFinished:
			fmt.Println(event.Summary.Status, event.Summary.Succeeded+event.Summary.Skipped, "of", event.Summary.Total)
		}
	}
}
