package cli_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestRunsAsksForWhatItsFlagsSay(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": answer(200, wire.Page[wire.Run]{Items: []wire.Run{}, Next: "c.mark"})})
	out := dormouse(t, s, "runs", "--status", "done", "--agent", "desk", "--reason", "error", "--response-state", "no_op", "--metadata", "order=A-17",
		"--metadata", "a.b=it's = 1", "--metadata", "empty=", "--created-after", "2026-03-01t09:30:00+01:00", "--created-before", "2026-03-02T00:00:00.5Z", "--limit", "7")
	out.wantExit(t, cmdline.ExitOK)
	want := url.Values{"status": {"done"}, "agent": {"desk"}, "reason": {"error"}, "response_state": {"no_op"}, "metadata.order": {"A-17"}, "metadata.a.b": {"it's = 1"},
		"metadata.empty": {""}, "created_after": {"2026-03-01T09:30:00+01:00"}, "created_before": {"2026-03-02T00:00:00.5Z"}, "limit": {"7"}}
	got, err := url.ParseQuery(s.seen[0].query)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("the query (-want +got):\n%s%v", diff, err)
	}
	contains(t, out.stdout, `next page: dormouse runs --status done --agent desk --reason error --response-state no_op --metadata 'a.b=it'\''s = 1' --metadata empty= `+
		`--metadata order=A-17 --created-after 2026-03-01T09:30:00+01:00 --created-before 2026-03-02T00:00:00.5Z --limit 7 --cursor c.mark`+"\n")
}

func TestApprovalsAsksForWhatItsFlagsSay(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/approvals": answer(200, wire.Page[wire.Approval]{Items: []wire.Approval{}, Next: "c"})})
	out := dormouse(t, s, "approvals", "--kind", "client", "--thread", "thr_x7")
	contains(t, out.stdout, "next page: dormouse approvals --kind client --thread thr_x7 --limit 20 --cursor c\n")
	if want := "kind=client&limit=20&thread_id=thr_x7"; s.seen[0].query != want {
		t.Errorf("asked for %s, want %s", s.seen[0].query, want)
	}
}

func TestFlagsOfRunsThatCannotBeRead(t *testing.T) {
	for want, args := range map[string][]string{
		`--metadata is "order"`:                               {"--metadata", "order"},
		`--metadata is "=A-17"`:                               {"--metadata", "=A-17"},
		`--metadata has the key "k" twice; use each key once`: {"--metadata", "k=1", "--metadata", "k=2"},
		`--created-after takes a time in RFC 3339, such as 2026-03-01T09:30:00Z, not "yesterday"`:   {"--created-after", "yesterday"},
		`--created-before takes a time in RFC 3339, such as 2026-03-01T09:30:00Z, not "2026-03-01"`: {"--created-before", "2026-03-01"},
		"--limit is 0": {"--limit", "0"},
	} {
		out := dormouse(t, nil, append([]string{"runs"}, args...)...)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, want)
	}
}

func TestRunsSayWhatTheyAreAbout(t *testing.T) {
	at := wire.Time{Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	page := wire.Page[wire.Run]{Items: []wire.Run{
		run("done", func(r *wire.Run) {
			r.CreatedAt, r.FirstLine, r.StartedBy = at, "Refund\tA-17\x1b[31m", &wire.Actor{By: "token:anna", Via: "api"}
		}),
		run("running", func(r *wire.Run) { r.CreatedAt = at }),
	}}
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": answer(200, page)})
	out := dormouse(t, s, "runs")
	contains(t, out.stdout, "STARTED BY          FIRST LINE\n", `token:anna via api  Refund A-17\x1b[31m`+"\n", "  -\n")
}
