package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// ownNotify has a server of its own notify the service of what happens in runs. Each event that was
// subscribed to arrives at least once, and first arrivals keep the journal's order.
const ownNotify = `
notify:
  - name: service
    on: [suspended, decided, done]
    url: "%[1]s/notices"
    allow_private: %[2]v
    format: template
    template: {id: "{id}", type: "{type}", run: "{event.run_id}", thread: "{event.thread_id}", seq: "{event.seq}"}
`

// Arrival is a notice that arrived at the service. Refused says that the service answered 503,
// after which it has to come again.
type Arrival struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Run     string `json:"run"`
	Thread  string `json:"thread"`
	Seq     int64  `json:"seq"`
	Refused bool   `json:"refused,omitempty"`
}

// refuseOne of so many notices, when it arrives for the first time.
const refuseOne = 5

// notice takes a notice, or refuses it.
func (s *Service) notice(w http.ResponseWriter, r *http.Request) {
	var a Arrival
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		a.ID = "unreadable: " + err.Error()
	}
	s.mu.Lock()
	again := slices.ContainsFunc(s.arrived, func(before Arrival) bool { return before.ID == a.ID })
	a.Refused = !again && len(s.arrived)%refuseOne == refuseOne-1
	s.arrived = append(s.arrived, a)
	close(s.more)
	s.more = make(chan struct{})
	s.mu.Unlock()
	if a.Refused {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// await waits until every notice that the journals owe has been taken, for at most patience, and
// returns what has arrived.
func (s *Service) await(ctx context.Context, e Evidence, patience time.Duration) []Arrival {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		s.mu.Lock()
		arrived, more := slices.Clone(s.arrived), s.more
		s.mu.Unlock()
		if len(untaken(e, arrived)) == 0 {
			return arrived
		}
		select {
		case <-more:
		case <-ctx.Done():
			return arrived
		}
	}
}

// owed are the notices that a journal demands, by id.
func owed(e Evidence) map[string]Arrival {
	all := map[string]Arrival{}
	for id, t := range e.Threads {
		for _, r := range t.Runs {
			for _, event := range r.Events {
				if kind := kindOf(event); kind != "" {
					a := Arrival{ID: fmt.Sprintf("%s:%d", r.ID, event.Seq), Type: kind, Run: r.ID, Thread: id, Seq: event.Seq}
					all[a.ID] = a
				}
			}
		}
	}
	return all
}

// kindOf is what a subscriber is notified of by an event; empty if it is not.
func kindOf(e wire.Event) string {
	var data struct {
		Kind       string          `json:"kind"`
		Applied    bool            `json:"applied"`
		Suspension json.RawMessage `json:"suspension"`
	}
	_ = json.Unmarshal(e.Data, &data) // what can't be read is owed
	switch {
	case e.Type == "call.suspended" && data.Kind != "interrupt" && data.Kind != "child":
		return "suspended"
	case e.Type == "decision.recorded" && data.Applied:
		return "decided"
	case e.Type == "call.cancelled" && present(data.Suspension): // no answer is needed any more
		return "decided"
	case e.Type == "run.ended":
		return "done"
	}
	return ""
}

func untaken(e Evidence, arrived []Arrival) map[string]Arrival {
	left := owed(e)
	for _, a := range arrived {
		if !a.Refused {
			delete(left, a.ID)
		}
	}
	return left
}

// notices: each event that was subscribed to arrived as it is in the journal, nothing else did, and
// those of a thread arrived for the first time in the order of the journal.
func (c *check) notices() {
	if !c.e.HasNotices {
		return
	}
	for id, a := range untaken(c.e, c.e.Notices) {
		c.violated("a notice is delivered", 0, fmt.Sprintf("the journal of %s has the event %d", a.Thread, a.Seq), "the notice %s (%s) was not taken", id, a.Type)
	}
	journal, first, newest := owed(c.e), map[string]bool{}, map[string]int64{}
	for _, a := range c.e.Notices {
		is := a
		is.Refused = false
		if want := journal[a.ID]; want != is {
			c.violated("a notice is of the journal", 0, fmt.Sprintf("the journal has %+v", want), "%+v arrived", is)
			continue
		}
		if first[a.ID] {
			continue
		}
		first[a.ID] = true
		if a.Seq < newest[a.Thread] {
			c.violated("first deliveries are in the order of the journal", 0, fmt.Sprintf("event %d of %s was sent", newest[a.Thread], a.Thread), "event %d arrived behind it", a.Seq)
		}
		newest[a.Thread] = max(newest[a.Thread], a.Seq)
	}
}
