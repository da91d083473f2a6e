package main

import (
	"fmt"
	"regexp"
)

// retired are the words that this project used in its first year where the field has a better one,
// and that one. A word with a second, ordinary meaning is matched with its neighbors.
var retired = []struct {
	word *regexp.Regexp
	say  string
}{
	{match(`nobody`), "no one, or name who: the caller, the approver, the worker"},
	{match(`somebody`), "name who: a person, the caller, the approver"},
	{match(`who(so)?ever|whatever`), "name who or what"},
	{match(`mend(s|ed|ing)?`), "fix, repair"},
	{match(`pa(y|ys|id|ying) (it |them |an? [a-z]+ |the [a-z]+ )?back`), "refund"},
	{match(`stands?`), "is, appears, is set"},
	{match(`told`), "notified, informed; or name what was sent"},
	{match(`corridors?|doors?|floors?`), "request path, layer, package, caller"},
	{match(`no room|room for|the room`), "space, capacity"},
	{match(`verbs?`), "command"},
	{match(`(let|left|leave|leaves) (it |them )?be`), "ignored, unchanged"},
	{match(`of (one's|its|their|his|her|your|our|my) own`), "own, separate, dedicated"},
	{match(`(by|with|without|gives?|given|has|have|had|the|a|no) leave`), "permission"},
	{match(`leave (to|of|for) [a-z]+`), "permission"},
	{match(`(worker|process|owner|invocation|holder|server)s? (is|are|was|were|being) lost`), "crashed"},
	{match(`at hand`), "current, in progress"},
	{match(`anew`), "again"},
	{match(`is (no|not an?) [a-z]+ of`), "say what it is"},
}

func match(word string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(` + word + `)\b`) }

// words finds the retired words in one line of a text.
func words(path string, line int, text string) (found []finding) {
	for _, r := range retired {
		for _, word := range r.word.FindAllString(text, -1) {
			found = append(found, finding{path, line, fmt.Sprintf("%q: say %s", word, r.say)})
		}
	}
	return found
}
