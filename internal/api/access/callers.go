package access

import (
	"slices"
	"strings"
)

// RolePrefix marks a role in a list of callers.
const RolePrefix = "role:"

// Listed reports whether a caller is in a list of callers, by its journaled name (in which *
// matches any text) or by a role. A caller without a name can only be listed by a role, and an
// admin only by name or as role:admin. An empty list contains no caller.
func Listed(list []string, by string, roles []Role) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		if role, ok := strings.CutPrefix(entry, RolePrefix); ok {
			return slices.Contains(roles, Role(role))
		}
		return by != "" && fits(entry, by)
	})
}

// fits reports whether text matches a pattern in which * matches any text.
func fits(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == text
	}
	first, last := pieces[0], pieces[len(pieces)-1]
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, piece := range pieces[1 : len(pieces)-1] {
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
	return strings.HasSuffix(text, last)
}
