package awsdouble_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

var update = flag.Bool("update", false, "write the answers anew; compare them with a second server before you believe them")

const longest = 600

// TestAnswersStayWhatASecondServerConfirmed holds every answer to the stories, so that the
// agreement which TestASecondServerAnswersTheSame finds now and then is kept by every run.
func TestAnswersStayWhatASecondServerConfirmed(t *testing.T) {
	var b strings.Builder
	for _, s := range stories {
		d := awsdouble.New(awsdouble.Options{Clock: func() time.Time { return time.Unix(1_800_000_000, 0) }, Seed: 1})
		fmt.Fprintf(&b, "== %s\n", s.name)
		for _, r := range append([]request{{"the table", "CreateTable", tableBody}}, s.requests...) {
			a := ask(t, d.HTTPClient(), "http://aws.invalid", r)
			fmt.Fprintf(&b, "%s\n\t%s\n", r.name, a.line(t))
		}
	}
	file := filepath.Join("testdata", "answers.golden")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("answers differ from %s; go test -update writes them anew (-want +got):\n%s", file, diff)
	}
}

func (a answered) line(t *testing.T) string {
	t.Helper()
	if a.code != "" {
		delete(a.body, "__type")
	}
	sortSets(a.body)
	raw, err := json.Marshal(a.body)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > longest {
		return fmt.Sprintf("%d %s %s... %d bytes", a.status, a.code, raw[:longest], len(raw))
	}
	return fmt.Sprintf("%d %s %s", a.status, a.code, raw)
}
