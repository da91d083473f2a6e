package access

import (
	"encoding/json"
	"slices"
	"strings"
)

// RolePrefix marks a role in a list of callers.
const RolePrefix = "role:"

// Listed reports whether a caller is in a list of callers, by its journaled name (in which *
// matches any text) or by a role. A caller without a name can only be listed by a role, and an
// admin only by name or as role:admin. An empty list contains no caller.
func Listed(list []string, by string, roles []Role) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return IsListed(entry, by, roles, nil) })
}

// IsListed reports whether an entry of a list fits a caller: its journaled name, one of its roles
// or one of its claims.
func IsListed(entry, by string, roles []Role, claims map[string]string) bool {
	if role, ok := strings.CutPrefix(entry, RolePrefix); ok {
		return slices.Contains(roles, Role(role))
	}
	if claim, ok := strings.CutPrefix(entry, ClaimPrefix); ok {
		name, value, _ := strings.Cut(claim, "=")
		if name == "email" && claims["email_verified"] != "true" {
			return false // some providers let anyone enter any address
		}
		return value != "" && claimed(claims[name], value)
	}
	return by != "" && fits(entry, by)
}

// ClaimPrefix marks a claim of a checked token in a list of callers; NAME=VALUE follows.
const ClaimPrefix = "claim:"

// claimed says whether a claim is the value, or a list that contains it. API Gateway writes a list
// as "[a b]", where it does not show where an element ends: [site admin] may be one group. There a
// value counts if it is the only word, or if it says dormouse: in front, which no group does by
// chance.
func claimed(claim, value string) bool {
	var list []string
	if json.Unmarshal([]byte(claim), &list) == nil {
		return slices.Contains(list, value)
	}
	inner, isList := strings.CutPrefix(claim, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !isList || !closed {
		return claim == value
	}
	words := strings.Fields(inner)
	return inner == value || strings.HasPrefix(value, rolePrefix) && slices.Contains(words, value)
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
