// Package jsontext writes Go values as JSON text, and reads them back, without loss: nothing is escaped that need not be, and numbers keep
// their digits.
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Encode gives the text of a value. A json.RawMessage, and a type whose RawMessage method gives one, is taken byte for byte. Members of structs stand in
// their order, those of maps sorted; `<`, `>`, `&` and all that is not ASCII stand as themselves.
func Encode(value any) (string, error) {
	switch raw := value.(type) {
	case json.RawMessage:
		return checked(string(raw))
	case interface{ RawMessage() json.RawMessage }:
		return checked(string(raw.RawMessage()))
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return string(plainSeparators(bytes.TrimSuffix(text.Bytes(), []byte("\n")))), nil
}

// Decode reads one JSON value into target. Numbers that go into an interface become json.Number.
func Decode(text string, target any) error {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	if err := decoder.Decode(target); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("expected a JSON value, found an empty text")
		}
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("expected one JSON value, found more after byte %d", decoder.InputOffset())
	}
	return nil
}

// checked refuses what gRPC could not carry.
func checked(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("expected JSON text in UTF-8, found bytes that are not")
	}
	return text, nil
}

// plainSeparators writes U+2028 and U+2029 as themselves, which encoding/json escapes whatever it is told.
func plainSeparators(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u202`)) {
		return text
	}
	plain := make([]byte, 0, len(text))
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' {
			plain = append(plain, text[at])
			continue
		}
		switch {
		case bytes.HasPrefix(text[at:], []byte(`\u2028`)):
			plain = append(plain, "\u2028"...)
			at += 5
		case bytes.HasPrefix(text[at:], []byte(`\u2029`)):
			plain = append(plain, "\u2029"...)
			at += 5
		default:
			plain = append(plain, text[at], text[at+1])
			at++
		}
	}
	return plain
}
