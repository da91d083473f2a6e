package live_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// reader does what the API's page tells readers to do, and complains where what it is sent does not
// allow it.
type reader struct {
	t      *testing.T
	truth  *truth
	cursor string
	seq    int64           // of the last committed event
	parts  map[string]part // by id
	events []wire.Event    // the committed ones
}

type part struct {
	text    string
	attempt string
	ended   bool
}

// truth is what every attempt has said, as far as the models were made to say it.
type truth struct {
	mu   sync.Mutex
	said map[string]string // by attempt and kind
	seen map[string]int    // how often readers were in which situation
}

func newTruth() *truth { return &truth{said: map[string]string{}, seen: map[string]int{}} }

func (t *truth) add(name, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.said[name] += text
}

func (t *truth) of(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.said[name]
}

func newReader(t *testing.T, truth *truth) *reader {
	return &reader{t: t, truth: truth, parts: map[string]part{}}
}

// since is the reader as it was, for one that comes back with a cursor of before.
func (r *reader) since() *reader {
	old := *r
	old.parts, old.events = maps.Clone(r.parts), r.events[:len(r.events):len(r.events)]
	return &old
}

func (r *reader) take(page wire.EventPage) {
	r.t.Helper()
	for _, e := range page.Items {
		r.event(e)
		if r.cursor == e.Cursor {
			r.t.Errorf("%s has the cursor of the event before it", e.Type)
		}
		r.cursor = e.Cursor
	}
}

func (r *reader) event(e wire.Event) {
	r.t.Helper()
	var data struct {
		Part    string `json:"part_id"`
		Attempt string `json:"attempt"`
		Offset  int    `json:"offset"`
		Text    string `json:"text"`
		Reason  string `json:"reason"`
		Live    bool   `json:"live"`
	}
	if len(e.Data) > 0 && json.Unmarshal(e.Data, &data) != nil {
		r.t.Fatalf("%s has data that cannot be read: %s", e.Type, e.Data)
	}
	live := false
	switch core.EventType(e.Type) {
	case core.EventTextDelta, core.EventReasoningDelta:
		live = true
		r.delta(e, part{text: data.Text, attempt: data.Attempt}, data.Part, data.Offset)
	case core.EventCallStarted:
		live = data.Live
	case core.EventStepReset:
		live = data.Reason == "repeated" || data.Reason == "cancelled"
		for id, p := range r.parts {
			if !p.ended {
				r.truth.seen["text is taken back by a reset that is "+map[bool]string{true: "live", false: "committed"}[live]]++
				delete(r.parts, id)
			}
		}
	case core.EventTextEnded, core.EventReasoningEnded:
		if p, there := r.parts[data.Part]; there {
			r.truth.seen[fmt.Sprintf("text is committed as it was heard: %v", p.text == data.Text)]++
		}
		r.parts[data.Part] = part{text: data.Text, ended: true}
	}
	if live {
		if e.Seq != r.seq {
			r.t.Errorf("%s has number %d behind %d", e.Type, e.Seq, r.seq)
		}
		return
	}
	if e.Seq != r.seq+1 {
		r.t.Fatalf("event %d, %s, came behind %d", e.Seq, e.Type, r.seq)
	}
	r.seq = e.Seq
	r.events = append(r.events, e)
}

func (r *reader) delta(e wire.Event, piece part, id string, offset int) {
	r.t.Helper()
	p := r.parts[id]
	switch {
	case p.ended:
		r.t.Errorf("%s of %s, which is committed", e.Type, id)
	case offset != len(p.text):
		r.t.Errorf("%s of %s at %d; %d bytes are there", e.Type, id, offset, len(p.text))
	case p.attempt != "" && p.attempt != piece.attempt:
		r.t.Errorf("%s of attempt %s is mixed with %s", id, p.attempt, piece.attempt)
	}
	r.truth.seen[fmt.Sprintf("text goes on: %v", offset > 0)]++
	r.parts[id] = part{text: p.text + piece.text, attempt: piece.attempt}
	_, name, _ := strings.Cut(id, ":")
	kind, _, _ := strings.Cut(name, "-")
	if all := r.truth.of(piece.attempt + " " + kind); !strings.HasPrefix(all, r.parts[id].text) {
		r.t.Errorf("%s reads %q; attempt %s has said %q", id, r.parts[id].text, piece.attempt, all)
	}
	for other, q := range r.parts {
		if !q.ended && q.attempt != piece.attempt {
			r.t.Errorf("%s is of attempt %s and %s of %s", other, q.attempt, id, piece.attempt)
		}
	}
}

// wantCommitted compares what was put together with what the journal says.
func (r *reader) wantCommitted(name string, journal []core.Event) {
	r.t.Helper()
	want := map[string]part{}
	for _, e := range journal {
		if e.Type == core.EventTextEnded || e.Type == core.EventReasoningEnded {
			var data struct {
				Part string `json:"part_id"`
				Text string `json:"text"`
			}
			if err := json.Unmarshal(e.Data, &data); err != nil {
				r.t.Fatal(err)
			}
			want[data.Part] = part{text: data.Text, ended: true}
		}
	}
	if !maps.Equal(r.parts, want) || len(r.events) != len(journal) {
		r.t.Errorf("%s has %d events and reads %s\nthe journal has %d and says %s", name, len(r.events), shown(r.parts), len(journal), shown(want))
	}
}

func shown(parts map[string]part) string { return fmt.Sprintf("%+v", parts) }
