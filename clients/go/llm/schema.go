package llm

import (
	"fmt"
	"regexp"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
)

// fitting are the names that each API takes.
var fitting = map[Format]*regexp.Regexp{
	Anthropic: regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`),
	OpenAI:    regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`),
}

// misfit says why an API does not take a name.
func (f Format) misfit(name string) error {
	if fitting[f].MatchString(name) {
		return nil
	}
	return fmt.Errorf("llm: the tool name %q does not fit: %s takes %s; give the tool a display name that fits, in the agent's tools", name, f, fitting[f])
}

// objectSchema gives a tool's schema as the APIs want it: one of an object, whose type and properties stand there. Args are always an object, so
// that says nothing new. No schema, or one that is no object, such as true, is that of any object.
func objectSchema(schema toolbatch.JSON) any {
	var members toolbatch.Object
	if schema.Decode(&members) != nil {
		members = nil
	}
	_, typed := members.Get("type")
	_, listed := members.Get("properties")
	if typed && listed {
		return schema
	}
	if !typed {
		members = append(members, toolbatch.Member{Name: "type", Value: "object"})
	}
	if !listed {
		members = append(members, toolbatch.Member{Name: "properties", Value: toolbatch.Object{}})
	}
	return members
}
