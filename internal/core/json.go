package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Canonical returns raw with sorted keys, no white space and every number as it was written. Two
// texts that mean the same JSON value, digit for digit, have one canonical form.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("core: not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("core: data follows the JSON value")
	}
	return Encode(v), nil
}

// Encode writes v as JSON without escaping for HTML. It panics on values that have no JSON form,
// which none of this package's types are.
func Encode(v any) json.RawMessage {
	raw, err := EncodeAny(v)
	if err != nil {
		panic(fmt.Sprintf("core: encoding %T: %v", v, err))
	}
	return raw
}

// EncodeAny is [Encode] for values that may have no JSON form. It takes the place of
// [json.Marshal], which writes &, < and > as escapes that people and models would be shown.
func EncodeAny(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Digest is the SHA-256 of data, in hex.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func jsonTrim(raw json.RawMessage) json.RawMessage { return bytes.Trim(raw, " \t\r\n") }
