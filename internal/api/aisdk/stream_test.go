package aisdk_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/aisdk"
	"github.com/dormouse-dev/dormouse/internal/api/aisdk/aisdktest"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/project/projecttest"
	"github.com/dormouse-dev/dormouse/internal/core"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// TestTranscripts shows what a client gets of each recorded conversation, response by response.
func TestTranscripts(t *testing.T) {
	for name, j := range projecttest.Journals(t) {
		for _, sdk := range []int{5, 6, 7} {
			var b strings.Builder
			for _, run := range j.Runs() {
				always := func() bool { return true }
				err := aisdktest.Responses(run, j.Rests, sdk, always, func(chunks []aisdk.Chunk) error {
					for _, c := range chunks {
						fmt.Fprintf(&b, "%s\n", core.Encode(c))
					}
					b.WriteByte('\n')
					return nil
				})
				if err != nil {
					t.Errorf("%s, version %d: %v", name, sdk, err)
				}
			}
			file := filepath.Join("testdata", fmt.Sprintf("%s.v%d.txt", name, sdk))
			if *update {
				if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("%s is another (-then +now); if it should be, run with -update:\n%s", file, diff)
			}
		}
	}
}

// TestResponsesAddUp: it doesn't matter in how many responses a conversation comes, with the live
// text and without.
func TestResponsesAddUp(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed of this test: %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for name, j := range projecttest.Journals(t) {
		for _, stored := range []bool{false, true} {
			j := j
			if stored {
				j.Events = j.Stored()
			}
			for _, run := range j.Runs() {
				for range 8 {
					if err := aisdktest.Split(run, j.Rests, random); err != nil {
						t.Errorf("%s, without live text: %v: %v", name, stored, err)
					}
				}
			}
		}
	}
}

// TestCommittedTextIsWhatCounts: whether live text was seen makes no difference to what a client
// has at the end.
func TestCommittedTextIsWhatCounts(t *testing.T) {
	for name, j := range projecttest.Journals(t) {
		with, without := history(t, j), history(t, projecttest.Journal{Events: j.Stored()})
		if diff := cmp.Diff(with, without); diff != "" {
			t.Errorf("%s: with live text (-), and without (+):\n%s", name, diff)
		}
	}
}

// A page that is opened again has the files that the user sent.
func TestTheHistoryHasFiles(t *testing.T) {
	j := projecttest.Journals(t)["files"]
	got := history(t, j)
	want := `"role":"user","parts":[{"type":"text","text":"hello, look at this"},` +
		`{"type":"file","mediaType":"image/png","url":"data:image/png;base64,bm90IHJlYWxseSBhbiBpbWFnZQ=="},` +
		`{"type":"file","mediaType":"application/pdf","filename":"order.pdf","url":"data:application/pdf;base64,bm90IHJlYWxseSBhIGRvY3VtZW50"}]}`
	if !strings.Contains(got, want) {
		t.Errorf("the history is\n%s\nwithout\n%s", got, want)
	}
}

// A page that is opened again says why the approver is asked, as the stream did.
func TestTheHistoryHasTheReasonOfAnApproval(t *testing.T) {
	j := projecttest.Journals(t)["approved"]
	const want = `"requestReason":"Payments above 10 need approval."`
	if got := historyFor(t, 7, j); !strings.Contains(got, want) {
		t.Errorf("the history is\n%s\nwithout\n%s", got, want)
	}
	if got := history(t, j); strings.Contains(got, "requestReason") {
		t.Errorf("version 6 doesn't know requestReason:\n%s", got)
	}
}

func history(t *testing.T, j projecttest.Journal) string {
	t.Helper()
	return historyFor(t, 6, j)
}

func historyFor(t *testing.T, sdk int, j projecttest.Journal) string {
	t.Helper()
	h := aisdk.NewHistory(sdk)
	var files project.Files
	for _, e := range j.Events {
		e, err := files.Take(e)
		if err == nil {
			err = h.Push(e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(core.Encode(h.Messages(&files)))
}
