package toolbatch_test

import (
	"encoding/json"
	"strings"
	"testing"

	toolbatch "github.com/toolbatch/toolbatch/clients/go"
	"github.com/toolbatch/toolbatch/clients/go/internal/jsontext"
)

func TestValuesAreWrittenWithoutEscapesAndLoss(t *testing.T) {
	type ordered struct {
		Z json.Number `json:"z"`
		A string      `json:"a"`
	}
	for _, each := range []struct {
		name     string
		value    any
		expected string
	}{
		{"a struct keeps its order", ordered{"12345678901234567890.10", "<&>"}, `{"z":12345678901234567890.10,"a":"<&>"}`},
		{"a map is sorted", map[string]any{"b": 1, "a": "é😀"}, `{"a":"é😀","b":1}`},
		{"an object keeps its order", toolbatch.Object{{Name: "z", Value: "<"}, {Name: "a", Value: []any{toolbatch.Object{}}}}, `{"z":"<","a":[{}]}`},
		{"separators stand as themselves", "\u2028\u2029", "\"\u2028\u2029\""},
		{"a backslash is no separator", `\u2028\`, `"\\u2028\\"`},
		{"raw text is not compacted", json.RawMessage(` { "a" : 1.0 } `), ` { "a" : 1.0 } `},
		{"so is JSON", toolbatch.JSON(` [1] `), ` [1] `},
		{"nothing is null", nil, `null`},
	} {
		t.Run(each.name, func(t *testing.T) {
			text, err := jsontext.Encode(each.value)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "text", text, each.expected)
		})
	}
}

func TestWhatIsNoJSONIsAnError(t *testing.T) {
	for name, value := range map[string]any{
		"a function": func() {}, "a number that is none": json.Number("1x"), "no UTF-8": json.RawMessage("\"\xff\""), "within": toolbatch.Object{{Name: "a", Value: func() {}}},
	} {
		if _, err := jsontext.Encode(value); err == nil {
			t.Errorf("%s: expected an error", name)
		}
	}
	for _, text := range []string{"", " ", "{", "{} {}", "[1,]", `{"a" 1}`, `{1:2}`} {
		if value, err := toolbatch.JSON(text).Value(); err == nil {
			t.Errorf("%q: expected an error, found %v", text, value)
		}
		if value, err := toolbatch.JSON(text).Ordered(); err == nil {
			t.Errorf("%q: expected an error, found %v", text, value)
		}
	}
	var object toolbatch.Object
	if err := toolbatch.JSON(`[1]`).Decode(&object); err == nil || !strings.Contains(err.Error(), "[1]") {
		t.Errorf("expected an error that names what was found, found %v", err)
	}
}

func TestAnObjectReadsWhatItWrites(t *testing.T) {
	const text = `{"z":[1.10,{"b":null,"a":true}],"a":"x","n":12345678901234567890}`
	value, err := toolbatch.JSON(text).Ordered()
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "text", string(written), text)
	n, found := value.(toolbatch.Object).Get("n")
	equal(t, "number", n, any(json.Number("12345678901234567890")))
	equal(t, "found", found, true)
	_, found = value.(toolbatch.Object).Get("none")
	equal(t, "found", found, false)
}

func FuzzOrderedNeverPanicsAndKeepsItsText(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":"\u2028"}]}`, `[[],{}]`, `"\ud800"`, `{"a":1,"a":2}`, `{`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := toolbatch.JSON(text).Ordered()
		if err != nil {
			return
		}
		written, err := jsontext.Encode(value)
		if err != nil {
			t.Fatal(err)
		}
		again, err := toolbatch.JSON(written).Ordered()
		if err != nil {
			t.Fatal(err)
		}
		if rewritten, err := jsontext.Encode(again); err != nil || rewritten != written {
			t.Fatalf("expected %s, found %s, %v", written, rewritten, err)
		}
	})
}
