package placeholder_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

func TestPlaceholdersOfATextAreRead(t *testing.T) {
	for text, want := range map[string]placeholder.Template{
		"":                   nil,
		"plain":              {{Text: "plain"}},
		"{a}":                {{Argument: "a"}},
		"x{a}y{secret:B_2}z": {{Text: "x"}, {Argument: "a"}, {Text: "y"}, {Secret: "B_2"}, {Text: "z"}},
		"{{a}}":              {{Text: "{a}"}},
		"{{{a}}}":            {{Text: "{"}, {Argument: "a"}, {Text: "}"}},
		"a{{b":               {{Text: "a{b"}},
		"{a}{b}":             {{Argument: "a"}, {Argument: "b"}},
	} {
		if got, err := placeholder.Read(text); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"{", "}", "{a", "a}", "{}", "{a{b}}", "{secret:}", "{secret:a}", "{ a }", "{a:b}"} {
		if got, err := placeholder.Read(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
