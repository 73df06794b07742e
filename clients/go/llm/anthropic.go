package llm

import (
	"encoding/json"
	"fmt"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/internal/jsontext"
)

type anthropicTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema any    `json:"input_schema"`
}

type anthropicResult struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`
}

func parseAnthropic(call json.RawMessage) (made, error) {
	var block struct {
		Type  string         `json:"type"`
		ID    string         `json:"id"`
		Name  string         `json:"name"`
		Input toolbatch.JSON `json:"input"`
	}
	if err := jsontext.Decode(string(call), &block); err != nil {
		return made{}, err
	}
	if block.Type != "tool_use" {
		return made{}, fmt.Errorf(`expected a block with "type": "tool_use", found %q`, block.Type)
	}
	return made{block.ID, block.Name, block.Input}, nil
}
