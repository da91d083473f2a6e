package recall_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/recall"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

func TestPages(t *testing.T) {
	page := func(next string, seqs ...int64) (p wire.EventPage) {
		for _, seq := range seqs {
			p.Items = append(p.Items, wire.Event{Seq: seq})
		}
		p.Next = next
		return p
	}
	large := page("z", 9)
	large.Items[0].Data = core.Encode(strings.Repeat("x", journal.PageBytes))
	type read struct {
		after string
		page  wire.EventPage
	}
	for _, tt := range []struct {
		name, run string
		reads     []read
		items     int
		next      string
	}{
		{"nothing", "run_a_0", nil, 0, ""},
		{"pages that follow one another", "run_a_0", []read{{"", page("a", 1, 2)}, {"a", page("b", 3)}}, 3, "b"},
		{"of another run", "run_b_0", []read{{"", page("a", 1, 2)}}, 0, ""},
		{"from the middle on", "run_a_0", []read{{"a", page("b", 3)}}, 0, ""},
		{"with a gap", "run_a_0", []read{{"", page("a", 1)}, {"b", page("c", 4)}}, 1, "a"},
		{"read twice", "run_a_0", []read{{"", page("a", 1)}, {"", page("a", 1)}}, 1, "a"},
		{"too large", "run_a_0", []read{{"", page("a", 1)}, {"a", large}}, 0, ""},
		{"too large, and on", "run_a_0", []read{{"", page("a", 1)}, {"a", large}, {"z", page("y", 10)}}, 0, ""},
	} {
		var e recall.Events
		for _, r := range tt.reads {
			e.Add("run_a_0", query.EventQuery{After: r.after}, r.page)
		}
		items, next := e.Take(tt.run)
		if len(items) != tt.items || next != tt.next {
			t.Errorf("%s: %d events up to %q, want %d up to %q", tt.name, len(items), next, tt.items, tt.next)
		}
		if again, _ := e.Take(tt.run); again != nil {
			t.Errorf("%s: they are taken twice", tt.name)
		}
	}
}
