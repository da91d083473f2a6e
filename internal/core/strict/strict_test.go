package strict_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

func nested(n int, open, end string) string {
	return strings.Repeat(open, n) + "1" + strings.Repeat(end, n)
}

func TestArgumentsHaveOneCanonicalForm(t *testing.T) {
	for _, tt := range []struct{ name, written, want string }{
		{"nothing", ``, `{}`},
		{"null", ` null `, `null`},
		{"no object", `[ 1.0 ]`, `[1.0]`},
		{"members in order, without space", "{ \"b\" : [ 1 , 2 ],\n\"a\" : {} }", `{"a":{},"b":[1,2]}`},
		{"every digit as written", `{"n":[1.50,-0,1E+2,123456789012345678901234567890,9007199254740993]}`, `{"n":[1.50,-0,1E+2,123456789012345678901234567890,9007199254740993]}`},
		{"escapes decoded once", `{"to":"\u004d\u0061llory","u":"\\u0041"}`, `{"to":"Mallory","u":"\\u0041"}`},
		{"not escaped for HTML", `{"q":"a \u0026 <b>"}`, `{"q":"a & <b>"}`},
		{"a pair of surrogates is one character", `{"s":"\ud83d\ude00"}`, `{"s":"😀"}`},
		{"the escape of a backslash before u", `{"s":"\\ud800"}`, `{"s":"\\ud800"}`},
		{"as deep as possible", nested(depth.Max, `{"a":`, "}"), nested(depth.Max, `{"a":`, "}")},
		{"one name in two objects", `{"a":{"c":1},"b":[{"c":2},{"c":3}],"c":4}`, `{"a":{"c":1},"b":[{"c":2},{"c":3}],"c":4}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := strict.Arguments(json.RawMessage(tt.written))
			if err != nil || string(got) != tt.want {
				t.Fatalf("%s, %v; want %s", got, err, tt.want)
			}
			if again, err := strict.Arguments(got); err != nil || string(again) != tt.want {
				t.Errorf("a second time: %s, %v", again, err)
			}
		})
	}
}

func TestArgumentsThatReadersUnderstandDifferentlyAreRefused(t *testing.T) {
	for _, tt := range []struct{ name, written, want string }{
		{"twice", `{"a":1,"a":2}`, `"a" is given twice`},
		{"twice, once as an escape", `{"a":1,"\u0061":2}`, `"a" is given twice`},
		{"other case", `{"amountCents":1,"amountcents":5000000}`, "differ only by case"},
		{"other case, deep inside", `{"a":[{"b":{"Id":1,"iD":2}}]}`, "differ only by case"},
		{"a long s", `{"cents":1,"centſ":2}`, "differ only by case"},
		{"a Kelvin sign", `{"kind":1,"\u212aind":2}`, "differ only by case"},
		{"a dotless i", `{"id":1,"ıd":2}`, "differ only by case"},
		{"a sharp s", `{"strasse":1,"straße":2}`, "differ only by case"},
		{"Greek sigmas", `{"σ":1,"ς":2}`, "differ only by case"},
		{"half a character", `{"to":"Ann\ud800"}`, "half a character"},
		{"the other half", `{"to":"\udc00Ann"}`, "half a character"},
		{"two first halves", `{"to":"\ud800\ud800"}`, "half a character"},
		{"half a character in a name", `{"\udbff":1}`, "half a character"},
		{"half a character behind a backslash", `{"to":"\\\ud800"}`, "half a character"},
		{"half a character and something", `{"to":"\ud800\n"}`, "half a character"},
		{"one level too deep", nested(depth.Max+1, `{"a":`, "}"), "nested more than 256 deep"},
		{"lists too deep", `{"a":` + nested(9_990, "[", "]") + `}`, "nested more than 256 deep"},
		{"too long", `{"a":"` + strings.Repeat("x", strict.MaxArguments) + `"}`, "the limit is 1048576"},
		{"too many members", members(strict.MaxMembers + 1), "more than 10000 members"},
		{"no UTF-8", "{\"a\":\"\xff\"}", "not UTF-8"},
		{"two values", `{}{}`, "not valid JSON"},
		{"a comma too many", `{"a":1,}`, "not valid JSON"},
		{"half a value", `{"a":`, "not valid JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := strict.Arguments(json.RawMessage(tt.written))
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 500 {
				t.Errorf("%.100s, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func members(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"m%d":1`, i))
	}
	return "{" + strings.Join(all, ",") + "}"
}

func TestResultsMayHoldNamesThatDifferByCase(t *testing.T) {
	if err := strict.Check([]byte(`{"id":1,"ID":2}`)); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{`{"a":1,"a":2}`, `"\ud800"`, nested(257, "[", "]"), `[1,]`, "\"\xff\"", ``} {
		if strict.Check([]byte(wrong)) == nil {
			t.Errorf("%.80q was accepted", wrong)
		}
	}
}

// What encoding/json takes for one member, and what upper and lower case make the same, is one
// name.
func TestFoldingKnowsEveryCharacterThatAnotherIsTakenFor(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		key := strict.FoldCase(string(r))
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if strict.FoldCase(string(other)) != key {
				t.Errorf("%U and %U are not one: %q, %q", r, other, key, strict.FoldCase(string(other)))
			}
		}
		for _, other := range []rune{unicode.ToUpper(r), unicode.ToLower(r)} {
			if got := strict.FoldCase(string(other)); got != key {
				t.Errorf("%U and %U are not one: %q, %q", r, other, key, got)
			}
		}
		if strict.FoldCase(key) != key && utf8Valid(r) {
			t.Errorf("%U: folding %q again makes %q", r, key, strict.FoldCase(key))
		}
	}
}

func utf8Valid(r rune) bool { return r < 0xd800 || r > 0xdfff }
