// Package placeholder reads texts with placeholders: {name} is an argument or a member, and
// {secret:NAME} a secret.
package placeholder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// Template is a text with placeholders, in order.
type Template []Piece

// Piece is plain text, or the name of the argument or secret that replaces it. Exactly one member
// is set.
type Piece struct{ Text, Argument, Secret string }

var (
	argumentName = lazyregexp.New(`^[A-Za-z0-9_.-]+$`)

	// SecretName is the form of the names of secrets.
	SecretName = lazyregexp.New(`^[A-Z][A-Z0-9_]*$`)
)

// Read parses a text in which {name} is an argument, {secret:NAME} a secret, and {{ and }}
// are literal braces.
func Read(text string) (Template, error) {
	var t Template
	for text != "" {
		i := strings.IndexAny(text, "{}")
		switch {
		case i < 0:
			return t.add(text), nil
		case strings.HasPrefix(text[i:], "{{"), strings.HasPrefix(text[i:], "}}"):
			t, text = t.add(text[:i+1]), text[i+2:]
			continue
		}
		end := strings.IndexByte(text[i:], '}')
		if text[i] == '}' || end < 0 {
			// what follows it may be a key
			return nil, errors.New("a brace belongs to no placeholder; write {name}, or {{ and }} for literal braces")
		}
		piece, err := readPiece(text[i+1 : i+end])
		if err != nil {
			return nil, err
		}
		t, text = append(t.add(text[:i]), piece), text[i+end+1:]
	}
	return t, nil
}

// Check returns the first mistake in the placeholders of the texts of a JSON value. Names of
// members are no templates.
func Check(raw json.RawMessage) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return errors.New("it is not valid JSON")
	}
	return check(v)
}

func check(v any) (err error) {
	switch v := v.(type) {
	case string:
		_, err = Read(v)
	case []any:
		for _, item := range v {
			err = cmp.Or(err, check(item))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			err = cmp.Or(err, check(v[name]))
		}
	}
	return err
}

func readPiece(inside string) (Piece, error) {
	name, secret := strings.CutPrefix(inside, "secret:")
	switch {
	case secret && !SecretName.MatchString(name):
		// it may be a key
		return Piece{}, errors.New("{secret:NAME} takes the name of a secret, not the secret itself; use A-Z, 0-9 and _, beginning with a letter")
	case secret:
		return Piece{Secret: name}, nil
	case !argumentName.MatchString(name):
		return Piece{}, fmt.Errorf("{%s} is not a placeholder; write {name} for an argument, {secret:NAME} for a secret, {{ and }} for braces", name)
	}
	return Piece{Argument: name}, nil
}

// add puts plain text behind t, as one piece with the text that is there.
func (t Template) add(text string) Template {
	switch last := len(t) - 1; {
	case text == "":
	case last >= 0 && t[last].Text != "":
		t[last].Text += text
	default:
		t = append(t, Piece{Text: text})
	}
	return t
}

// Arguments are the names of the arguments in it.
func (t Template) Arguments() (names []string) {
	for _, p := range t {
		names = add(names, p.Argument)
	}
	return names
}

// Secrets are the names of the secrets in it.
func (t Template) Secrets() (names []string) {
	for _, p := range t {
		names = add(names, p.Secret)
	}
	return names
}

// Whole is the argument that is all of the template.
func (t Template) Whole() (name string, whole bool) {
	if len(t) != 1 {
		return "", false
	}
	return t[0].Argument, t[0].Argument != ""
}

// Fixed is the text between the placeholders, with something harmless in their places.
func (t Template) Fixed() string {
	var b strings.Builder
	for _, p := range t {
		if p.Text == "" {
			b.WriteString("x")
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// add appends a name that is not empty and not there yet.
func add(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
