package llm

import (
	"encoding/json"
	"fmt"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/internal/jsontext"
)

type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  any    `json:"parameters"`
}

type openAIMessage struct {
	Role       string `json:"role"`
	ToolCallID string `json:"tool_call_id"`
	Content    string `json:"content"`
}

func parseOpenAI(call json.RawMessage) (made, error) {
	var entry struct {
		Type     string `json:"type"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	if err := jsontext.Decode(string(call), &entry); err != nil {
		return made{}, err
	}
	if entry.Type != "" && entry.Type != "function" {
		return made{}, fmt.Errorf(`expected an entry with "type": "function", found %q`, entry.Type)
	}
	return made{entry.ID, entry.Function.Name, toolbatch.JSON(entry.Function.Arguments)}, nil
}
