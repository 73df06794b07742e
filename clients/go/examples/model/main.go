// Command model runs what a model of Anthropic asks for: it reads the model's message from its input, and writes the blocks that answer it.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/llm"
)

func main() {
	client, err := toolbatch.Dial("")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var message struct {
		Content []json.RawMessage `json:"content"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&message); err != nil {
		log.Fatal("expected a message of the model: ", err)
	}
	var results []json.RawMessage
	for _, block := range message.Content {
		var kind struct{ Type string }
		if err := json.Unmarshal(block, &kind); err != nil {
			log.Fatal(err)
		}
		if kind.Type != "tool_use" {
			continue
		}
		result, err := llm.ToolCall(context.Background(), client, llm.Anthropic, "chat-1", block)
		if err != nil {
			log.Fatal(err)
		}
		results = append(results, result)
	}
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	if err := output.Encode(results); err != nil {
		log.Fatal(err)
	}
}
