// Package title fills the title of a tool, such as "Refund {amount} {currency} for {order}?", with
// the arguments of a call. A title is read before everything else, so that no value may change what
// it says: one that is missing, long or that may mislead leaves the call without a title.
package title

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

const (
	// Most is how many characters a title may have, its placeholders included.
	Most = 120

	mostValue = 40 // characters
)

// Part is a piece of a title: words of the tool's author, or with Argument set the value of that
// argument.
type Part struct{ Text, Argument string }

// Read parses a title. It refuses what a reader would not see, or not in one line.
func Read(text string) (placeholder.Template, error) {
	t, err := placeholder.Read(text)
	switch spelled := printable.Spell(text); {
	case err != nil:
		return nil, err
	case strings.TrimSpace(text) == "":
		return nil, errors.New("it is empty; write a question such as \"Refund {amount} for {order}?\", or remove it")
	case utf8.RuneCountInString(text) > Most:
		return nil, fmt.Errorf("it has more than %d characters; shorten it", Most)
	case len(spelled.Warnings) > 0 || !asItIs(spelled):
		return nil, errors.New("it has line breaks, doubled blanks, or characters that do not show or that mislead; remove them")
	case len(t.Secrets()) > 0:
		return nil, fmt.Errorf("approvers read it, so it cannot hold a secret; remove {secret:%s}", t.Secrets()[0])
	}
	return t, nil
}

// Parts are those of a title, without values; none if it is empty or cannot be read.
func Parts(text string) (parts []Part) {
	if text == "" {
		return nil
	}
	t, err := Read(text)
	if err != nil {
		return nil
	}
	for _, p := range t {
		parts = append(parts, Part{p.Text, p.Argument})
	}
	return parts
}

// Fill puts arguments into the parts of a title. It returns none if one of the values is not to be
// shown in it: it is missing, not a text, a number or a boolean, longer than 40 characters, or has
// a warning. Names that occur twice, or that look alike, leave a call without a title, too.
func Fill(parts []Part, arguments []byte) []Part {
	if parts == nil {
		return nil
	}
	values, ok := valuesOf(arguments)
	if !ok {
		return nil
	}
	filled := slices.Clone(parts)
	for i, p := range filled {
		if p.Argument == "" {
			continue
		}
		if filled[i].Text, ok = values[p.Argument]; !ok {
			return nil
		}
	}
	return filled
}

// valuesOf are the arguments that a title may show. ok is false if names could be confused.
func valuesOf(arguments []byte) (values map[string]string, ok bool) {
	values = map[string]string{}
	for _, row := range printable.Rows(arguments) {
		if slices.ContainsFunc(row.Warnings, confuses) {
			return nil, false
		}
		if len(row.Path) == 1 && row.Path[0].Place == 0 && shows(row) {
			values[row.Path[0].Name.String()] = shown(row)
		}
	}
	return values, true
}

func confuses(w printable.Warning) bool { return w.Code == "same_name" || w.Code == "similar_name" }

func shows(row printable.Row) bool {
	switch row.Type {
	case printable.TypeBoolean:
		return true
	case printable.TypeText, printable.TypeNumber:
		return len(row.Warnings) == 0 && row.Value.Len() <= mostValue && row.Value.Order == nil && asItIs(row.Value)
	}
	return false
}

func shown(row printable.Row) string {
	if row.Words != "" {
		return row.Words
	}
	return row.Value.String()
}

// asItIs says whether every character of a text is shown unchanged, in one line.
func asItIs(s printable.Spelled) bool {
	return !slices.ContainsFunc(s.Parts, func(p printable.Part) bool { return p.Kind != printable.Plain && p.Kind != printable.Host })
}
