package toolbatch

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/toolbatch/toolbatch/clients/go/internal/jsontext"
)

// JSON is JSON text, byte for byte as it came; empty where there is none. As args it is sent byte for byte, as a json.RawMessage is.
type JSON string

// Decode reads the text into what target points to, as json.Unmarshal does. Numbers that go into an interface become json.Number, so none
// is rounded.
func (j JSON) Decode(target any) error { return jsontext.Decode(string(j), target) }

// Value gives the text as map[string]any, []any, string, json.Number, bool or nil. Go's maps have no order: see Ordered.
func (j JSON) Value() (any, error) {
	var value any
	err := j.Decode(&value)
	return value, err
}

// Ordered is Value with objects as Object, whose members stand as in the text.
func (j JSON) Ordered() (any, error) {
	var value ordered
	err := j.Decode(&value)
	return value.value, err
}

// RawMessage gives the text as encoding/json names it.
func (j JSON) RawMessage() json.RawMessage { return json.RawMessage(j) }

// MarshalJSON writes the text into what surrounds it; an empty one as null.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON takes the text as it stands.
func (j *JSON) UnmarshalJSON(text []byte) error {
	*j = JSON(text)
	return nil
}

// Object is a JSON object that keeps the order of its members, which Go's maps do not. Read from text, its values are Object, []any, string,
// json.Number, bool or nil; written, they may be whatever encoding/json takes.
type Object []Member

// Member is one member of an Object.
type Member struct {
	Name  string
	Value any
}

// Get gives the value of the first member of that name, and whether there is one.
func (o Object) Get(name string) (any, bool) {
	for _, member := range o {
		if member.Name == name {
			return member.Value, true
		}
	}
	return nil, false
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for place, member := range o {
		if place > 0 {
			text = append(text, ',')
		}
		name, err := jsontext.Encode(member.Name)
		if err != nil {
			return nil, err
		}
		value, err := jsontext.Encode(member.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", member.Name, err)
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// UnmarshalJSON reads an object.
func (o *Object) UnmarshalJSON(text []byte) error {
	var read ordered
	if err := read.UnmarshalJSON(text); err != nil {
		return err
	}
	object, ok := read.value.(Object)
	if !ok {
		return fmt.Errorf("expected a JSON object, found %s", text)
	}
	*o = object
	return nil
}

// ordered is any JSON value, its objects as Object.
type ordered struct{ value any }

func (o *ordered) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var err error
	o.value, err = readOrdered(decoder)
	return err
}

func readOrdered(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := Object{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := readOrdered(decoder)
			if err != nil {
				return nil, err
			}
			object = append(object, Member{Name: name.(string), Value: value})
		}
		_, err = decoder.Token()
		return object, err
	case json.Delim('['):
		array := []any{}
		for decoder.More() {
			value, err := readOrdered(decoder)
			if err != nil {
				return nil, err
			}
			array = append(array, value)
		}
		_, err = decoder.Token()
		return array, err
	}
	return token, nil
}
