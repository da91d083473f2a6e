// Package browsertest looks at the pages of internal/api/httpapi in Chromium: what a person sees
// must be what runs. .ci/browser runs it.
package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

var (
	//go:embed hidden.js
	hiddenScript string
	//go:embed look.js
	lookScript string
)

// seen is what look.js returns.
type seen struct {
	Wrong []string
	Rows  []seenRow
	Frame string
}

type seenRow struct {
	Path         []string
	Label, Value string
	Own, Foreign bool
	Ordered      []string
	Warns        []string
}

// specimen is a line of internal/text/printable/testdata/hostile.jsonl.
type specimen struct {
	Name, Raw string
	Warns     []string
}

func corpus(t *testing.T) (all []specimen) {
	t.Helper()
	file, err := os.ReadFile("../../../text/printable/testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		var s specimen
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// text is what a specimen says, if it is text.
func (s specimen) text() (text string, ok bool) {
	err := json.Unmarshal([]byte(s.Raw), &text)
	return text, err == nil && strings.HasPrefix(s.Raw, `"`)
}

// group is how many specimens one question has as values and as names.
const group = 12

// TestHostileQuestionsInABrowser asks questions whose arguments, names, reasons and tools are
// hostile, and demands that the page says of each exactly what would run, in its order, in its
// place, and changes nothing of its own.
func TestHostileQuestionsInABrowser(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	s := serve(t)
	ctx := browser(t)
	// the frame of a harmless question, by whether its tool is named in the heading
	plain := map[bool]string{}
	for _, harmless := range []string{"pay", "a tool"} {
		if err := s.open(ctx, s.ask(harmless, "Payments above 100 need a person.", `{"x":1}`)); err != nil {
			t.Fatal(err)
		}
		plain[harmless == "pay"] = lookAt(t, ctx, 390).Frame
	}
	for i, one := range all {
		text, isText := one.text()
		if !isText && i%group != 0 {
			continue // it is a value in the question of its group
		}
		if !isText || text == "" {
			text = "pay"
		}
		arguments := `{"n":1}`
		if i%group == 0 {
			arguments = argumentsOf(all[i:min(i+group, len(all))])
		}
		t.Run(one.Name, func(t *testing.T) {
			link := s.ask(text, text, arguments)
			if err := s.open(ctx, link); err != nil {
				t.Fatal(err)
			}
			widths := []int64{390}
			if i%group == 0 {
				widths = append(widths, 320, 1280)
			}
			for _, width := range widths {
				page := lookAt(t, ctx, width)
				for _, wrong := range page.Wrong {
					t.Errorf("%d pixels: %s", width, wrong)
				}
				if page.Frame != plain[plainTool(text)] {
					t.Errorf("the frame is\n%s\nwant\n%s", page.Frame, plain[plainTool(text)])
				}
				saysWhatRuns(t, page, text, arguments)
				warnsAsExpected(t, page, all[i:min(i+group, len(all))], arguments)
			}
		})
	}
}

func plainTool(name string) bool {
	return len(name) <= 40 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == "" && strings.Trim(name, "_.-") == name
}

// argumentsOf has each specimen as a value, and if it is text as a name and as a name within one.
func argumentsOf(some []specimen) string {
	var b strings.Builder
	for i, s := range some {
		fmt.Fprintf(&b, `,"v%d":%s`, i, s.Raw)
		if _, ok := s.text(); ok {
			fmt.Fprintf(&b, `,"k%d":{%s:{%s:[%s,"50, 70"]}}`, i, s.Raw, s.Raw, s.Raw)
		}
	}
	return "{" + b.String()[1:] + "}"
}

func lookAt(t *testing.T, ctx context.Context, width int64) (page seen) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 844)); err != nil {
		t.Fatal(err)
	}
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](hiddenScript+lookScript))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		t.Fatal(err)
	}
	return page
}

// saysWhatRuns compares the rows with the values of the arguments as the standard library reads
// them.
func saysWhatRuns(t *testing.T, page seen, text, arguments string) {
	t.Helper()
	var got []leaf
	said := map[string]string{}
	for _, row := range page.Rows {
		if row.Foreign {
			said[row.Label] = row.Value
			continue
		}
		got = append(got, leaf{path: strings.Join(row.Path, "\x00"), value: row.Value, own: row.Own})
		for _, ordered := range row.Ordered {
			if ordered != row.Value && !slices.Contains(row.Path, ordered) {
				t.Errorf("the pieces %q are no value and no name of %+v", ordered, row)
			}
		}
	}
	want := leavesOf(t, arguments)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("%+v is not shown", want[i])
		case i >= len(want):
			t.Fatalf("%+v is shown and does not run", got[i])
		case got[i] != want[i] && !sameJSON(got[i], want[i]):
			t.Errorf("shown is %q, what runs is %q", fmt.Sprint(got[i]), fmt.Sprint(want[i]))
		}
	}
	if said["Rule"] != text {
		t.Errorf("the reason is shown as %q, and is %q", said["Rule"], text)
	}
	short := shortened(text)
	for label, want := range map[string]string{"The request": requestOf(text), "The assistant says": short, "About the tool": short, "Current value when this was asked": short,
		"HTTP request to": short, "Metadata of the run": string(metadataOf(text)), "Requested by": "a caller without a name, by api"} {
		if said[label] != want {
			t.Errorf("%s: shown is %q, and it is %q", label, said[label], want)
		}
	}
	if tool, shown := said["Tool"]; shown && tool != text || !shown && !plainTool(text) {
		t.Errorf("the tool is shown as %q (%v), and is %q", tool, shown, text)
	}
}

// warnsAsExpected looks for the warnings of each specimen where it is a value.
func warnsAsExpected(t *testing.T, page seen, some []specimen, arguments string) {
	t.Helper()
	for i, s := range some {
		var shown []string
		for _, row := range page.Rows {
			if len(row.Path) > 0 && row.Path[0] == fmt.Sprintf("v%d", i) {
				shown = append(shown, row.Warns...)
			}
		}
		if arguments == `{"n":1}` {
			continue
		}
		if text, _ := s.text(); slices.Contains(s.Warns, "order") {
			hasPieces(t, page, fmt.Sprintf("v%d", i), text)
			hasPieces(t, page, fmt.Sprintf("k%d", i), text)
		}
		for _, code := range s.Warns {
			if text := warningText(s, code); !slices.Contains(shown, text) {
				t.Errorf("%s: it does not say %q; it says %q", s.Name, text, shown)
			}
		}
		if len(s.Warns) == 0 && len(shown) > 0 {
			t.Errorf("%s: it warns of %q", s.Name, shown)
		}
	}
}

// hasPieces demands that every row below a name lists the pieces of a text that is not read in its
// stored order.
func hasPieces(t *testing.T, page seen, name, text string) {
	t.Helper()
	for _, row := range page.Rows {
		if len(row.Path) > 0 && row.Path[0] == name && !slices.Contains(row.Ordered, text) {
			t.Errorf("%q is not taken apart in %+v", text, row)
		}
	}
}

func warningText(s specimen, code string) string {
	for _, w := range printable.Warnings([]byte(s.Raw), 1000) {
		if w.Code == code {
			return w.Text
		}
	}
	return "?"
}
