package torture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Violation is a word that was not kept.
type Violation struct {
	Rule     string `json:"rule"`
	Promised string `json:"promised"`         // what was promised
	To       int    `json:"caller,omitempty"` // to whom; 0: to everybody
	Found    string `json:"found"`
}

func (v Violation) String() string {
	to := "everybody"
	if v.To != 0 {
		to = fmt.Sprintf("caller %d", v.To)
	}
	return fmt.Sprintf("violated: %s\n  promised  %s\n  to        %s\n  found     %s", v.Rule, v.Promised, to, v.Found)
}

// Check holds what was promised against what was found. None of both is changed, and nothing is
// asked of a server.
func Check(p *Promises, e Evidence) []Violation {
	c := &check{p: p, e: e, found: slices.Clone(p.Broken), cancelled: map[string]bool{}, wanted: map[string]map[string]want{}}
	c.prepare()
	for _, s := range p.Starts {
		c.start(s)
	}
	for _, id := range slices.Sorted(maps.Keys(e.Threads)) {
		c.thread(id, e.Threads[id])
	}
	c.children()
	c.cancels()
	c.decisions()
	c.list()
	c.effects()
	c.notices()
	return c.found
}

type check struct {
	p     *Promises
	e     Evidence
	found []Violation

	wanted    map[string]map[string]want // by thread and text: what its user may have said
	cancelled map[string]bool            // runs that somebody wanted to end
	decided   map[string][]Decision      // by run and suspension
	stories   map[string]*story          // by run
}

// want is how often a text must be in a conversation.
type want struct {
	times  int
	caller int
	what   string // what was promised about it
}

func (c *check) violated(rule string, to int, promised, found string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Promised: promised, To: to, Found: fmt.Sprintf(found, args...)})
}

// prepare sorts the promises by what they are about, and reads the events.
func (c *check) prepare() {
	for _, s := range c.p.Starts {
		c.want(s.Thread, s.Text, want{1, s.Caller, promisedStart(s)})
	}
	for _, m := range c.p.Messages {
		w := want{1, m.Caller, fmt.Sprintf("the message %q to %s was accepted", m.Text, m.Thread)}
		if m.Refusal != "" {
			w.times, w.what = 0, fmt.Sprintf("the message %q to %s was refused with %s", m.Text, m.Thread, m.Refusal)
		}
		c.want(m.Thread, m.Text, w)
	}
	for _, cancel := range c.p.Cancels {
		c.cancelled[cancel.Run] = true
	}
	c.decided = map[string][]Decision{}
	for _, d := range c.p.Decisions {
		key := d.Run + " " + d.Target
		c.decided[key] = append(c.decided[key], d)
	}
	c.stories = map[string]*story{}
	for _, t := range c.e.Threads {
		for _, r := range t.Runs {
			c.stories[r.ID] = read(r)
		}
	}
}

func (c *check) want(thread, text string, w want) {
	if c.wanted[thread] == nil {
		c.wanted[thread] = map[string]want{}
	}
	c.wanted[thread][text] = w
}

func promisedStart(s Start) string {
	return fmt.Sprintf("the start with the key %s was answered with run %s", s.Key, s.Run)
}

// start: a run that was acknowledged is there, once, and its key stands for it.
func (c *check) start(s Start) {
	promised := promisedStart(s)
	run, there := c.e.Threads[s.Thread].run(s.Run)
	switch {
	case !there:
		c.violated("an acknowledged start is there", s.Caller, promised, "thread %s has no such run, only: %s", s.Thread, ids(c.e.Threads[s.Thread].Runs))
	case run.Agent != s.Request.Agent:
		c.violated("a run is of the agent it was started with", s.Caller, promised, "it is a run of %s", run.Agent)
	}
	if again := c.e.Again[s.Key]; again != s.Run {
		c.violated("one key starts one run", s.Caller, promised, "the same start, sent again, was answered %s", orNothing(again))
	}
}

func ids(runs []RunLog) string {
	var all []string
	for _, r := range runs {
		all = append(all, r.ID)
	}
	return orNothing(strings.Join(all, ", "))
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// thread: what was said is there as often as it was accepted, runs are over and have a reason to be
// there, and each keeps the rules of its calls.
func (c *check) thread(id string, t Thread) {
	if t.Parent == nil { // what an agent says to another is its own
		c.said(id, t)
	}
	c.numbered(id, t)
	for _, r := range t.Runs {
		c.ended(r, t.Parent)
		c.reasonFor(t, r)
		c.calls(r, c.stories[r.ID])
	}
	c.results(id, t)
}

// said: each text of a user is in the conversation exactly as often as it was accepted.
func (c *check) said(id string, t Thread) {
	times := map[string]int{}
	for _, m := range t.Messages {
		if m.Role == "user" {
			times[m.Text]++
		}
	}
	for _, r := range t.Runs {
		for _, text := range c.stories[r.ID].answeredBySaying {
			times[text]++
		}
	}
	for _, text := range slices.Sorted(maps.Keys(c.wanted[id])) {
		if w := c.wanted[id][text]; times[text] != w.times {
			c.violated("what was accepted is in the conversation once, and what was refused is not", w.caller, w.what,
				"thread %s has %q %d times", id, text, times[text])
		}
	}
	for _, text := range slices.Sorted(maps.Keys(times)) {
		if _, known := c.wanted[id][text]; !known {
			c.violated("nobody says what was not sent", 0, "a conversation has what its users sent",
				"thread %s has %q, which nobody sent", id, text)
		}
	}
}

// numbered: events have the numbers 1, 2, 3, ... over all runs of a thread.
func (c *check) numbered(id string, t Thread) {
	next := int64(1)
	for _, r := range t.Runs {
		for _, e := range r.Events {
			if e.Seq != next {
				c.violated("events are numbered without gaps", 0, "the journal of a thread only grows",
					"thread %s has the event %d (%s of %s) where %d was expected",
					id, e.Seq, e.Type, r.ID, next)
				return
			}
			next++
		}
	}
}

// ended: every run comes to its end.
func (c *check) ended(r RunLog, parent *ParentCall) {
	reason := ""
	if r.Reason != nil {
		reason = *r.Reason
	}
	switch {
	case r.Status != "done":
		c.violated("every run comes to its end", 0, "with everything decided, run "+r.ID+" is done", "it is %s, and waits for %s", r.Status, waitsFor(r))
	case reason == "cancelled" && !c.cancelled[r.ID] && !c.givenUpAbove(parent):
		c.violated("nobody ends a run but who may", 0, "run "+r.ID+" goes on until it is done", "it is cancelled, and nobody asked for that")
	case c.e.Own && reason != "natural_end" && reason != "cancelled" && !givenUp(r):
		c.violated("a run of this agent ends by itself or by a cancel", 0, "run "+r.ID+" ends by itself",
			"it ended as %s %+v %s", reason, r.Error, r.Detail)
	}
}

// givenUp says whether a run was ended because its process was lost in it again and again. That is
// what the server says it does; with a kill a few times a second it may hit anyone.
func givenUp(r RunLog) bool { return r.Error != nil && r.Error.Code == "crash_loop" }

func waitsFor(r RunLog) string {
	var all []string
	for _, p := range r.Pending {
		all = append(all, p.Kind+" of "+p.Tool)
	}
	return orNothing(strings.Join(all, ", "))
}

// reasonFor: a run is there because somebody said something.
func (c *check) reasonFor(t Thread, r RunLog) {
	for _, m := range t.Messages {
		if m.RunID == r.ID && m.Role == "user" {
			return
		}
	}
	c.violated("a run begins with what somebody said", 0, "nothing runs that was not asked for", "run %s has no message of a user", r.ID)
}

// cancels: a cancel that was accepted ends the run.
func (c *check) cancels() {
	reasons := map[string]string{}
	for _, t := range c.e.Threads {
		for _, r := range t.Runs {
			reasons[r.ID] = "nothing"
			switch {
			case givenUp(r):
				// or as good as that: nobody was left to look at the cancel
				reasons[r.ID] = "cancelled"
			case r.Reason != nil:
				reasons[r.ID] = *r.Reason
			}
		}
	}
	for _, cancel := range c.p.Cancels {
		if reason := reasons[cancel.Run]; cancel.Accepted && reason != "cancelled" {
			c.violated("an accepted cancel ends the run", cancel.Caller, "the cancel of run "+cancel.Run+" was accepted",
				"the run came to %s", orNothing(reason))
		}
	}
}

// list: the list of all runs has each once, and none that nobody asked for.
func (c *check) list() {
	if c.e.Listed == nil {
		return
	}
	for _, t := range c.e.Threads {
		for _, r := range t.Runs {
			if n := c.e.Listed[r.ID]; n != 1 {
				c.violated("the list of runs has each once", 0, "run "+r.ID+" is one run", "it is listed %d times", n)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.e.Listed)) {
		if c.stories[id] == nil {
			c.violated("nothing runs that was not asked for", 0, "runs are those that callers started",
				"run %s is in the list, and no caller knows its thread", id)
		}
	}
}
