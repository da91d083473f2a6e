package display

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// member is one name of a JSON object and its value, as it was sent.
type member struct {
	name  string
	value json.RawMessage
}

// Members are those of an object in their order; ok is false for any other value, and for one with
// a name that is there twice: which of the two counts is not for this program to say.
func Members(raw json.RawMessage) (all []member, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if first, err := dec.Token(); !json.Valid(raw) || err != nil || first != json.Delim('{') {
		return nil, false
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		name, isText := key.(string)
		if err != nil || !isText || seen[name] {
			return nil, false
		}
		seen[name] = true
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, false
		}
		all = append(all, member{name, value})
	}
	return all, true
}

// obvious is text that needs no quotes to be read as what it is.
var obvious = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:/@-]*$`)

// InWords shows arguments the way people write them: order=A-17 amount=120. Text that could be
// taken for something else has its quotes.
func InWords(raw json.RawMessage) string {
	all, ok := Members(raw)
	if !ok {
		return CleanJSON(raw)
	}
	words := make([]string, len(all))
	for i, m := range all {
		words[i] = inWord(m.name) + "=" + valueInWord(m.value)
	}
	return strings.Join(words, " ")
}

func inWord(name string) string {
	if obvious.MatchString(name) {
		return name
	}
	return printable.JSON(quoted(name))
}

func valueInWord(raw json.RawMessage) string {
	var words string
	if json.Unmarshal(raw, &words) == nil && obvious.MatchString(words) && !keyword[words] {
		return words
	}
	return CleanJSON(raw)
}

// keyword are the words of JSON: as text they keep their quotes.
var keyword = map[string]bool{"true": true, "false": true, "null": true}

// quoted is text as a JSON string.
func quoted(words string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(words) // a string always has a form
	return strings.TrimSuffix(b.String(), "\n")
}
