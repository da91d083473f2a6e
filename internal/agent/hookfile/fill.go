package hookfile

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// longestName is how many bytes of a sender's name for an event, or for a person, are kept as they
// are. The keys that are made of them have at most 255.
const longestName = 128

// shortened is a sender's name for an event as a part of a key: a digest if it is long or has
// characters that don't print.
func shortened(id string) string {
	if len(id) > longestName || !printable(id) {
		return core.Digest([]byte(id))
	}
	return id
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// by is who acted. The journal and lists of callers show it, so it must be short and printable.
func (h Hook) by(body agent.Values) (string, error) {
	if h.By == "" {
		return "", nil
	}
	who, ok := body.Text(h.By)
	switch {
	case !ok || who == "":
		return "", mismatch("the body has no text or number at %s, which says who acted", h.By)
	case len(who) > longestName || !printable(who):
		return "", mismatch("the text at %s, which says who acted, is longer than %d bytes or not printable", h.By, longestName)
	}
	return who, nil
}

// filled fills a template that must not come out empty; "" for a template that the file doesn't
// have.
func filled(body agent.Values, name string, t placeholder.Template) (string, error) {
	if len(t) == 0 {
		return "", nil
	}
	out, missing := body.Fill(t)
	switch {
	case missing != "":
		return "", mismatch("the body has nothing at %s, which %s needs", missing, name)
	case strings.TrimSpace(out) == "":
		return "", mismatch("%s comes out empty", name)
	}
	return out, nil
}

// optional fills a template; "" if the body lacks a part of it.
func optional(body agent.Values, t placeholder.Template) string {
	out, missing := body.Fill(t)
	if missing != "" {
		return ""
	}
	return out
}

// object is the JSON object of several templates. A template that is one placeholder keeps the type
// of its value.
func object(body agent.Values, members map[string]placeholder.Template) (json.RawMessage, error) {
	if len(members) == 0 {
		return nil, nil
	}
	made := map[string]any{}
	for name, t := range members {
		if path, whole := t.Whole(); whole {
			value, there := body.At(path)
			if !there {
				return nil, mismatch("the body has nothing at %s, which metadata.%s needs", path, name)
			}
			made[name] = value
			continue
		}
		out, missing := body.Fill(t)
		if missing != "" {
			return nil, mismatch("the body has nothing at %s, which metadata.%s needs", missing, name)
		}
		made[name] = out
	}
	return core.Encode(made), nil
}
