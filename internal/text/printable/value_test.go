package printable_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// told is what is said of the one value of an object.
func told(t *testing.T, value string) (shown, notes, codes string) {
	t.Helper()
	rows := printable.Rows([]byte(`{"x":` + value + `}`))
	if len(rows) != 1 {
		t.Fatalf("%s has %d rows", value, len(rows))
	}
	shown = rows[0].Value.String() + rows[0].Words
	for _, w := range rows[0].Warnings {
		codes += w.Code + " " + w.Text + "\n"
	}
	return shown, strings.Join(rows[0].Notes, ", "), codes
}

func TestNumbersSayWhatTheyAre(t *testing.T) {
	for value, want := range map[string]struct{ notes, codes string }{
		"120":                           {},
		"-1.50":                         {},
		"9007199254740993":              {"", "many_digits"},
		"12345678901234567890":          {"", "many_digits"},
		"100000000000000000000":         {},
		"-0":                            {"minus zero", ""},
		"0":                             {},
		"1e21":                          {"", "In full it is 1000000000000000000000."},
		"0.1e-7":                        {"", "In full it is 0.00000001."},
		"-2.50E+2":                      {"", "In full it is -250."},
		"0.00000000000000000120e20":     {"", "In full it is 120."},
		"12e-1":                         {"", "In full it is 1.2."},
		"0e999999999":                   {"", "In full it is 0."},
		"1e999999999":                   {"", "In full it is a number with more than 60 digits before the point."},
		"-1e999":                        {"", "In full it is a negative number with more than 60 digits before the point."},
		"1e-999999999":                  {"", "In full it is nearly nothing"},
		"1e99999999999999999999999999":  {"", "In full it is a number with more than 60 digits before the point."},
		`"120"`:                         {"text, not a number", ""},
		`"1,000.00"`:                    {"text, not a number", ""},
		`"１２０"`:                         {"text, not a number", "styled"},
		`"٥٠"`:                          {"text, not a number", "digits"},
		`"A-17"`:                        {},
		`"true"`:                        {"text, not a value of another type", ""},
		`"DE89370400440532013000"`:      {},
		`"DE89 3704 0044 0532 O130 00"`: {"", "check_digits"},
		`"DE89 3704 0044 0532 0130 01"`: {"", "check_digits"},
	} {
		shown, notes, codes := told(t, value)
		if shown != strings.Trim(value, `"`) || notes != want.notes || !strings.Contains(codes, want.codes) || want.codes == "" && codes != "" {
			t.Errorf("%s is shown as %s; notes %q, warnings %q; want %+v", value, shown, notes, codes, want)
		}
	}
}

func TestAddressesShowWhereTheyLead(t *testing.T) {
	for text, want := range map[string]struct{ host, warns string }{
		"https://bank.example/pay?x=1":          {"bank.example", ""},
		"https://bank.example@evil.example/pay": {"evil.example", "before the @"},
		"https://xn--pypal-4ve.example":         {"xn--pypal-4ve.example", "xn--"},
		"https://bank.example\\@evil.example/":  {"bank.example", ""},
		"javascript:alert(1)":                   {"", "runs as a program"},
		" JavaScript :alert(1)":                 {"", "runs as a program"},
		"data:text/html,x":                      {"", "runs as a program"},
		"see https://bank.example":              {"", ""},
	} {
		quoted, _ := json.Marshal(text)
		host := ""
		for _, p := range printable.Rows(quoted)[0].Value.Parts {
			if p.Kind == printable.Host {
				host += p.Text
			}
		}
		warns := ""
		for _, w := range printable.Rows(quoted)[0].Warnings {
			warns += w.Text
		}
		if host != want.host || !strings.Contains(warns, want.warns) || want.warns == "" && warns != "" {
			t.Errorf("%s: host %q, warns %q", text, host, warns)
		}
	}
}

func TestEscapesAreDecodedOnce(t *testing.T) {
	for quoted, want := range map[string]string{
		`"\u004d\u0061llory"`:  "Mallory",
		`"\\u004d"`:            `\u004d`,
		`"\ud83d\ude00"`:       "😀",
		`"a\ud800b"`:           "a\xed\xa0\x80b",
		`"\udc00\ud800"`:       "\xed\xb0\x80\xed\xa0\x80",
		`"\ud83d\u0041"`:       "\xed\xa0\xbdA",
		`"\"\\\/\b\f\n\r\t"`:   "\"\\/\b\f\n\r\t",
		`"&<>"`:                "&<>",
		`"\u0026\u003c\u003e"`: "&<>",
	} {
		if got, _, _ := told(t, quoted); got != want {
			t.Errorf("%s says %q, want %q", quoted, got, want)
		}
	}
}

func TestEveryValueHasItsPathAndNoneIsLost(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 40) + `"end"` + strings.Repeat("}", 40)
	wide := `{"` + strings.Repeat("n", 20000) + `":[` + strings.Repeat("1,", 9999) + `"last"]}`
	for name, tt := range map[string]struct {
		raw  string
		want []string // pointer and type of the rows, at most five
		says string   // that something of it is shown
		warn string
	}{
		"scalar":        {`"x"`, []string{" text"}, "x", ""},
		"nested":        {`{"a":{"b":[1,{"c~/":[]}]},"d":{}}`, []string{"/a/b/0 number", "/a/b/1/c~0~1 empty", "/d empty"}, "1", ""},
		"blanks":        {"{ \"a\" :\n[ 1 ,\t2 ] , \"b\" : { } }", []string{"/a/0 number", "/a/1 number", "/b empty"}, "2", ""},
		"an empty name": {`{"":1}`, []string{"/ number"}, "1", ""},
		"a name twice":  {`{"a":1,"a":2}`, []string{"/a number", "/a number"}, "2", "same_name"},
		"names alike":   {"{\"amount\":1,\"\u0430mount\":2}", []string{"/amount number", "/\u0430mount number"}, "2", "similar_name"},
		"names by case": {`{"amount":1,"AMOUNT":2}`, []string{"/amount number", "/AMOUNT number"}, "2", "similar_name"},
		"deep":          {deep, []string{strings.Repeat("/a", 32) + " json"}, `"end"`, "not_taken_apart"},
		"no JSON":       {`{"a":`, []string{" json"}, `{"a":`, "not_taken_apart"},
		"long names":    {wide, []string{" json"}, `"last"`, "not_taken_apart"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			said, codes := "", ""
			for _, row := range printable.Rows([]byte(tt.raw)) {
				got = append(got, row.Pointer+" "+string(row.Type))
				said += row.Value.String()
				for _, w := range row.Warnings {
					codes += w.Code + " "
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if !strings.Contains(said, tt.says) || !strings.Contains(codes, tt.warn) || tt.warn == "" && codes != "" {
				t.Errorf("says %q, warns %q", said, codes)
			}
		})
	}
}

func TestWarningsNameTheirValueAndAreBounded(t *testing.T) {
	got := printable.Warnings([]byte("{\"a\":{\"b\":\"x\u202e\"},\"c\":1}"), 10)
	want := []printable.Found{{Path: "/a/b", Code: "hidden", Text: "Has characters that do not show or change how others show. They are written as their numbers."}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	many := "[" + strings.Repeat("\"\u202e\",", 50) + "1]"
	if got := printable.Warnings([]byte(many), 20); len(got) != 20 {
		t.Errorf("%d warnings", len(got))
	}
}

// FuzzRows demands that the rows of any JSON are its values in their order, and that its JSON for
// people is the same value.
func FuzzRows(f *testing.F) {
	for _, raw := range []string{`{"a":[1,"x",{"b":null}],"":true}`, `"\ud800"`, `[]`, ` [ 1e5 , {} ] `, `{"a":"\u202e\"\\"}`, "\"\xff\"", "\"א\""} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var was any
		rows := printable.Rows([]byte(raw))
		if json.Unmarshal([]byte(raw), &was) != nil {
			return
		}
		var leaves, shown []string
		leavesOf(json.NewDecoder(strings.NewReader(raw)), &leaves)
		for _, row := range rows {
			if row.Type == printable.TypeRaw {
				return
			}
			shown = append(shown, strings.ToValidUTF8(row.Value.String()+row.Words, ""))
		}
		if diff := cmp.Diff(leaves, shown); diff != "" {
			t.Fatalf("%q (-values +rows):\n%s", raw, diff)
		}
		var is any
		if err := json.Unmarshal([]byte(printable.JSON(raw)), &is); err == nil && !cmp.Equal(was, is) {
			t.Fatalf("%q is shown as %q, which is another value", raw, printable.JSON(raw))
		}
	})
}

// leavesOf are the values of JSON by the standard library, which are neither lists nor objects, or
// are empty.
func leavesOf(dec *json.Decoder, leaves *[]string) {
	dec.UseNumber()
	type open struct{ object, key, any bool }
	var in []open
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		if end, is := token.(json.Delim); is && (end == '}' || end == ']') {
			if top := in[len(in)-1]; !top.any {
				*leaves = append(*leaves, map[bool]string{true: "nothing in it (empty object)", false: "nothing in it (empty list)"}[top.object])
			}
			in = in[:len(in)-1]
			continue
		}
		if n := len(in); n > 0 {
			in[n-1].any = true
			if in[n-1].object {
				if in[n-1].key = !in[n-1].key; in[n-1].key {
					continue // the name of a member
				}
			}
		}
		if begin, is := token.(json.Delim); is {
			in = append(in, open{object: begin == '{'})
			continue
		}
		*leaves = append(*leaves, leaf(token))
	}
}

func leaf(token json.Token) string {
	switch v := token.(type) {
	case json.Number:
		return v.String()
	case string:
		if v == "" {
			return "empty text"
		}
		return strings.ReplaceAll(v, "\ufffd", "")
	case bool:
		return map[bool]string{true: "Yes (true)", false: "No (false)"}[v]
	}
	return "nothing (null)"
}
