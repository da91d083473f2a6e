package agui_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/agui"
	"github.com/dormouse-dev/dormouse/internal/api/agui/aguitest"
	"github.com/dormouse-dev/dormouse/internal/api/project/projecttest"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// conversations are the runs of a journal, each with those before it.
func conversations(j projecttest.Journal) (all []aguitest.Conversation) {
	var before []wire.Event
	runs := j.Runs()
	for i, run := range runs {
		all = append(all, aguitest.Conversation{Before: before, Run: run, Rests: j.Rests || i < len(runs)-1})
		before = append(before, run...)
	}
	return all
}

// TestTranscripts shows what a client gets of each recorded conversation, response by response, and
// what a page gets that is opened at the end.
func TestTranscripts(t *testing.T) {
	for name, j := range projecttest.Journals(t) {
		for _, version := range []string{"1.0", "0.0.59"} {
			compare(t, filepath.Join("testdata", name+"."+version+".txt"), transcript(t, name, j, version == "1.0"))
		}
	}
}

func transcript(t *testing.T, name string, j projecttest.Journal, versioned bool) string {
	t.Helper()
	var b strings.Builder
	show := func(c aguitest.Conversation, v agui.View) {
		v.Versioned = versioned
		events, err := c.Stream(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, e := range events {
			fmt.Fprintf(&b, "%s\n", core.Encode(e))
		}
		b.WriteByte('\n')
	}
	runs := conversations(j)
	for _, c := range runs {
		var after int64
		from := 0
		for _, n := range append(projecttest.Rests(c.Run), len(c.Run)) {
			part := c
			if n < len(c.Run) {
				part.Run, part.Rests = c.Run[:n], true
			}
			show(part, agui.View{After: after, Hold: projecttest.Answered(c.Run, from, n)})
			after, from = aguitest.SeqBefore(c.Run, n), n
		}
	}
	last := runs[len(runs)-1]
	b.WriteString("opened at the end:\n")
	show(last, agui.View{After: aguitest.SeqBefore(last.Run, len(last.Run)), Snapshot: true})
	return b.String()
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is another (-then +now); if it should be, run with -update:\n%s", file, diff)
	}
}

// TestResponsesAddUp: it doesn't matter in how many responses a conversation comes, nor when a page
// of it is opened, with the live text and without.
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
			for _, c := range conversations(j) {
				for range 8 {
					if err := c.Split(random); err != nil {
						t.Fatalf("%s, without live text: %v: %v", name, stored, err)
					}
				}
			}
		}
	}
}
