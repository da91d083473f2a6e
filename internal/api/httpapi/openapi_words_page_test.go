package httpapi

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// cell is text for a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}

func nameOfValue(v any) string { return nameOf(reflect.TypeOf(v)) }

// typeOf is a schema's type in a word or two.
func typeOf(s *jsonschema.Schema) string {
	kinds := s.Types
	if s.Type != "" {
		kinds = []string{s.Type}
	}
	switch {
	case s.Ref != "":
		return anchored(s.Ref)
	case s.Const != nil && len(kinds) == 0:
		return "string"
	case len(s.AnyOf) > 0:
		var all []string
		for _, one := range s.AnyOf {
			all = append(all, typeOf(one))
		}
		return strings.Join(all, " or ")
	case len(kinds) == 0:
		return "any JSON"
	case s.Items != nil:
		return "array of " + typeOf(s.Items)
	}
	return strings.Join(kinds, " or ")
}

func anchored(ref string) string {
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	switch name {
	case "Time":
		return "time"
	case "Input":
		return "text, or an array of parts"
	case "Permissions", "Rule":
		return strings.ToLower(name)
	case "DecisionOfSeveral":
		return "decision"
	}
	return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
}

// oneOf lists the words that a schema allows.
func oneOf(of any) string {
	s, ok := of.(*jsonschema.Schema)
	if !ok || s.Enum == nil {
		return ""
	}
	var words []string
	for _, w := range s.Enum {
		if w != nil && w != "" {
			words = append(words, fmt.Sprintf("`%v`", w))
		}
	}
	if len(words) < 2 || len(words) > mostListed {
		return ""
	}
	return " One of " + strings.Join(words, ", ") + "."
}

// mostListed is how long a closed list may be that stands in a table of members. A longer one has a
// table of its own, which the description links to.
const mostListed = 12

func sortedStatuses(by map[int][]frontend.Code) []int { return slices.Sorted(maps.Keys(by)) }

// own are the codes that are not those of every call.
func own(rt route, codes []frontend.Code) (words []string) {
	for _, c := range codes {
		if slices.Contains(rt.codes, c) {
			words = append(words, string(c))
		}
	}
	return words
}
