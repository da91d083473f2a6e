package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Template is a text with placeholders, in order.
type Template []Piece

// Piece is plain text, or the name of the argument or secret that replaces it. Exactly one member
// is set.
type Piece struct{ Text, Argument, Secret string }

// Mistake says what is wrong with a text and what to do.
func Mistake(format string, args ...any) error { return fmt.Errorf(format, args...) }

var (
	argumentName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	SecretName   = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

// ReadTemplate parses a text in which {name} is an argument, {secret:NAME} a secret, and {{ and }}
// are literal braces.
func ReadTemplate(text string) (Template, error) {
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
			return nil, Mistake("a brace belongs to no placeholder; write {name}, or {{ and }} for literal braces")
		}
		piece, err := readPiece(text[i+1 : i+end])
		if err != nil {
			return nil, err
		}
		t, text = append(t.add(text[:i]), piece), text[i+end+1:]
	}
	return t, nil
}

// CheckTexts returns the first mistake in the placeholders of the texts of a JSON value. Names of
// members are no templates.
func CheckTexts(raw json.RawMessage) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return Mistake("it is not valid JSON")
	}
	return checkTexts(v)
}

func checkTexts(v any) (err error) {
	switch v := v.(type) {
	case string:
		_, err = ReadTemplate(v)
	case []any:
		for _, item := range v {
			err = cmp.Or(err, checkTexts(item))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			err = cmp.Or(err, checkTexts(v[name]))
		}
	}
	return err
}

func readPiece(inside string) (Piece, error) {
	name, secret := strings.CutPrefix(inside, "secret:")
	switch {
	case secret && !SecretName.MatchString(name):
		// it may be a key
		return Piece{}, Mistake("{secret:NAME} takes the name of a secret, not the secret itself; use A-Z, 0-9 and _, beginning with a letter")
	case secret:
		return Piece{Secret: name}, nil
	case !argumentName.MatchString(name):
		return Piece{}, Mistake("{%s} is not a placeholder; write {name} for an argument, {secret:NAME} for a secret, {{ and }} for braces", name)
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
		names = AddName(names, p.Argument)
	}
	return names
}

// Secrets are the names of the secrets in it.
func (t Template) Secrets() (names []string) {
	for _, p := range t {
		names = AddName(names, p.Secret)
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
