package display

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Diff shows what edited arguments change of those that were asked for, member by member: a line
// with - for what goes, one with + for what comes. Values count as the same if they are written the
// same but for blanks; the order of members is no difference. No lines, no difference.
func Diff(before, after json.RawMessage) []Line {
	return diffAt(nil, canonical(before), canonical(after))
}

func diffAt(path []string, before, after json.RawMessage) (lines []Line) {
	olds, isObject := Members(before)
	news, areObjects := Members(after)
	if !isObject || !areObjects {
		if Compact(before) == Compact(after) {
			return nil
		}
		return []Line{gone(path, before), come(path, after)}
	}
	for _, o := range olds {
		under := append(path[:len(path):len(path)], o.name)
		if n, ok := named(news, o.name); ok {
			lines = append(lines, diffAt(under, o.value, n)...)
			continue
		}
		lines = append(lines, gone(under, o.value))
	}
	for _, n := range news {
		if _, ok := named(olds, n.name); !ok {
			lines = append(lines, come(append(path[:len(path):len(path)], n.name), n.value))
		}
	}
	return lines
}

func named(all []member, name string) (json.RawMessage, bool) {
	for _, m := range all {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

func gone(path []string, value json.RawMessage) Line { return Line{{Red, "- " + at(path, value)}} }

func come(path []string, value json.RawMessage) Line { return Line{{Green, "+ " + at(path, value)}} }

func at(path []string, value json.RawMessage) string {
	if len(path) == 0 {
		return CleanJSON(value)
	}
	names := make([]string, len(path))
	for i, name := range path {
		names[i] = inWord(name)
	}
	return strings.Join(names, ".") + ": " + CleanJSON(value)
}

// Compact is JSON without blanks between its tokens; other text is returned as it is.
func Compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
