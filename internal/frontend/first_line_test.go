package frontend_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

func TestTheFirstLineOfARun(t *testing.T) {
	image := `{"type":"image","media_type":"image/png","data":"` + base64.StdEncoding.EncodeToString([]byte("png")) + `"}`
	text := func(words string) string { return `{"type":"text","text":` + string(core.Encode(words)) + `}` }
	for name, tt := range map[string]struct{ input, want string }{
		"a line":                     {`"Refund A-17"`, "Refund A-17"},
		"more lines":                 {`"Refund A-17\nand B-2"`, "Refund A-17"},
		"lines of another system":    {`"Refund A-17\r\nand B-2"`, "Refund A-17"},
		"lines of unicode":           {`"Refund A-17\u2028and B-2"`, "Refund A-17"},
		"blank lines first":          {`"\n \n\t Refund A-17 \n"`, "Refund A-17"},
		"a text behind an image":     {`[` + image + `,` + text("Whose is it?\nAnswer") + `]`, "Whose is it?"},
		"an image":                   {`[` + image + `]`, ""},
		"blank text first":           {`[` + text(" \n ") + `,` + text("second") + `]`, "second"},
		"exactly as much as fits":    {`"` + strings.Repeat("é", 200) + `"`, strings.Repeat("é", 200)},
		"a character more":           {`"` + strings.Repeat("é", 201) + `"`, strings.Repeat("é", 200)},
		"characters of four bytes":   {`"` + strings.Repeat("🦫", 1000) + `"`, strings.Repeat("🦫", 200)},
		"cut behind a blank":         {`"` + strings.Repeat("x", 199) + ` y"`, strings.Repeat("x", 199)},
		"a lone surrogate":           {`"a\ud800b"`, "a\ufffdb"},
		"what steers a terminal":     {`"\u001b[31mred"`, "\x1b[31mred"},
		"a text kept beside the run": {`"First\n` + strings.Repeat("long ", 1000) + `"`, "First"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			x.worker.Who = true
			s, err := x.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte(tt.input)})
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			check := func(when string, run wire.Run, err error) {
				t.Helper()
				if err != nil || run.FirstLine != want || run.StartedBy == nil || run.StartedBy.By != "anna" {
					t.Errorf("%s: %q by %+v, %v; want %q", when, run.FirstLine, run.StartedBy, err, want)
				}
			}
			if len(tt.input) > 512 {
				want = "" // until the run begins: that would be one more read
			}
			check("the answer to the start", s.Run, nil)
			run, err := x.Run(t.Context(), anna, s.Run.ID)
			check("created", run, err)
			want = tt.want
			x.worker.Finish(s.Run.ID, "a long answer\nof the model")
			run, err = x.Run(t.Context(), anna, s.Run.ID)
			check("done", run, err)
			if _, err := x.say(s.Run.ThreadID, "", "something else", ""); err != nil {
				t.Fatal(err)
			}
			page, err := x.Runs(t.Context(), anna, query.List{Status: "done"})
			if len(page.Items) != 1 {
				t.Fatal(page, err)
			}
			check("archived, in a list", page.Items[0], err)
		})
	}
}

func TestARetryHasNoFirstLineOfItsOwn(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.End(run.ID, core.Reason{Kind: core.Failed, Code: "crash_loop"}, "")
	s, err := x.Retry(t.Context(), anna, run.ID, "")
	if err != nil || s.Run.FirstLine != "" || s.Run.RetryOf == nil {
		t.Fatalf("%+v, %v", s.Run, err)
	}
	if _, err := x.say(run.ThreadID, "", "what a user says to the retry", ""); err != nil {
		t.Fatal(err)
	}
	x.worker.Drain(s.Run.ID)
	again, err := x.Run(t.Context(), anna, s.Run.ID)
	if err != nil || again.FirstLine != "" {
		t.Errorf("%q, %v", again.FirstLine, err)
	}
}

func TestARunWhoseStartCannotBeReadIsListedWithoutIt(t *testing.T) {
	store := &poisoned{journal: errors.Join(engine.ErrUnavailable, engine.ErrUnreadable)}
	x := newFixture(t, func(s frontend.Store) frontend.Store { store.Store = s; return store })
	good, bad := x.start(), x.start()
	x.worker.Drain(good.ID)
	x.worker.Drain(bad.ID)
	store.thread = bad.ThreadID
	for _, q := range []query.List{{}, {Status: "running", Agent: "desk"}} {
		page, err := x.Runs(t.Context(), anna, q)
		if err != nil || len(page.Items) != 2 {
			t.Fatal(page, err)
		}
		for _, r := range page.Items {
			if r.ID == bad.ID && (r.FirstLine != "" || r.StartedBy != nil || r.Error == nil) || r.ID == good.ID && r.FirstLine != "refund A-17" {
				t.Errorf("listed as %+v", r)
			}
		}
	}
}
