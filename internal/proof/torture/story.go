package torture

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// story is what the events of a run tell, by call and by suspension. The shapes are those of the
// API's events; what this package does not look at is left out.
type story struct {
	calls []*call // in the order in which the model made them
	byID  map[string]*call
	// by suspension, in order; not those that came after a deadline
	recorded         map[string][]recorded
	answeredBySaying []string // messages that were taken as the answer to a call
	children         []child  // that its calls started, in order
}

// call is what happened to one call.
type call struct {
	id, tool  string
	arguments json.RawMessage // that it runs with, as far as decided
	ready     int
	asked     bool // waited for an approval, at least once
	refused   *recorded
	open      string // the approval it waits for now
	begun     bool
	ends      []string // types of the events that ended it
	trouble   []string // what must not have happened, in the order it did
}

// recorded is a decision as the journal has it.
type recorded struct {
	CallID     string          `json:"call_id"`
	Suspension string          `json:"suspension"`
	DecisionID string          `json:"decision_id"`
	Action     string          `json:"action"`
	Result     json.RawMessage `json:"result"`
	Error      string          `json:"error"`
	Arguments  json.RawMessage `json:"arguments"`
	Grant      string          `json:"grant"`
	By         string          `json:"by"`
	Applied    bool            `json:"applied"`
	TimedOut   bool            `json:"timed_out"`
	Late       bool            `json:"late"`
}

// allows says whether a decision on an approval lets the call run.
func (r recorded) allows() bool {
	return r.Applied && r.Action == "resume" && r.Error == "" && !r.TimedOut
}

// told is an event's data about a call.
type told struct {
	CallID    string          `json:"call_id"`
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	Kind      string          `json:"kind"`
	// of call.suspended the suspension itself, of other events its id
	Suspension json.RawMessage `json:"suspension"`
	Pending    struct {
		Arguments json.RawMessage `json:"arguments"`
	} `json:"pending"`
}

// read tells the events of a run in order.
func read(r RunLog) *story {
	s := &story{byID: map[string]*call{}, recorded: map[string][]recorded{}}
	for _, e := range r.Events {
		if e.Type == "decision.recorded" {
			s.decision(e)
			continue
		}
		var t told
		if json.Unmarshal(e.Data, &t) != nil || t.CallID == "" {
			continue
		}
		c := s.call(t)
		s.child(e)
		switch e.Type {
		case "call.ready":
			c.ready++
			c.arguments = t.Arguments
		case "call.suspended":
			c.suspended(t)
		case "call.started":
			c.started(t)
		case "call.succeeded", "call.failed", "call.cancelled":
			c.ended(e.Type)
		}
	}
	return s
}

func (s *story) call(t told) *call {
	c := s.byID[t.CallID]
	if c == nil {
		c = &call{id: t.CallID, tool: t.ToolName}
		s.byID[t.CallID] = c
		s.calls = append(s.calls, c)
	}
	if c.tool == "" {
		c.tool = t.ToolName
	}
	return c
}

func (s *story) decision(e wire.Event) {
	var r recorded
	if json.Unmarshal(e.Data, &r) != nil || r.Late {
		return
	}
	s.recorded[r.Suspension] = append(s.recorded[r.Suspension], r)
	var text string
	if r.By == "message" && json.Unmarshal(r.Result, &text) == nil {
		s.answeredBySaying = append(s.answeredBySaying, text)
	}
	c := s.byID[r.CallID]
	if c == nil || c.open != r.Suspension || !r.Applied {
		return
	}
	c.open = ""
	switch {
	case !r.allows():
		c.refused = &r
	case present(r.Arguments):
		c.arguments = r.Arguments
	}
}

func (c *call) suspended(t told) {
	if present(t.Pending.Arguments) && !same(t.Pending.Arguments, c.arguments) {
		c.wrong("it was shown with %s and would run with %s", t.Pending.Arguments, c.arguments)
	}
	var sus wire.Suspension
	if t.Kind == "approval" && json.Unmarshal(t.Suspension, &sus) == nil {
		c.asked, c.open = true, sus.ID
	}
}

func (c *call) started(t told) {
	c.begun = true
	switch {
	case c.open != "":
		c.wrong("it ran while it waited for the decision on %s", c.open)
	case c.refused != nil:
		c.wrong("it ran although the decision %s refused it", c.refused.DecisionID)
	}
	if present(t.Arguments) && !same(t.Arguments, c.arguments) {
		c.wrong("it ran with %s, and was allowed with %s", t.Arguments, c.arguments)
	}
}

func (c *call) ended(event string) {
	c.ends = append(c.ends, event)
	switch {
	case event == "call.succeeded" && c.refused != nil:
		c.wrong("it has a result although the decision %s refused it", c.refused.DecisionID)
	case event == "call.succeeded" && c.open != "":
		c.wrong("it has a result while it waited for the decision on %s", c.open)
	}
}
