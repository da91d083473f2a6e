package sim_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// setting is what a story takes place in.
type setting struct {
	tools     map[string]*storyTool
	last      *storyTool // that "its" means
	turns     []storyTurn
	parallel  bool
	workers   int
	notify    bool
	deaf      int // notices that fail
	inline    int
	messages  int
	doubled   bool          // each wake-up comes twice
	lost      bool          // no wake-up arrives but those of the sweep
	joint     bool          // the queue shares the writes of the store
	oneByOne  bool          // a sweep handles one entry
	starters  []string      // none: everybody
	approvers []string      // none: everybody
	stuck     bool          // another run is overdue, and cannot be worked on
	outage    time.Duration // that a run waits for its model; 0: as long as by default
	mischief  []mischief
}

// storyTool is what a tool is like.
type storyTool struct {
	spec     core.ToolSpec
	effect   core.Effect
	mode     core.ResumeMode
	grants   bool
	separate bool   // who asked for the work may not approve it
	asks     bool   // its body does
	until    string // it is told this
	takes    time.Duration
	fails    string
	kills    bool // its process
	deadline core.Deadline
	turns    []storyTurn // of the agent that it calls
	remote   bool        // that agent runs elsewhere
	brought  bool        // the agent does not have it, a start supplies it
	later    bool        // the second version of the agent is the first that has it
	losing   int         // so many of its answers to tasks are lost
	deafTo   int         // and so many stops
	remind   *vote.Reminders
	escalate *vote.Escalation
	silence  *vote.Limit
}

// policy is what else the story says of who decides; nil if nothing.
func (t *storyTool) policy(approvers []string) *vote.Policy {
	if t.remind == nil && t.escalate == nil && t.silence == nil {
		return nil
	}
	return &vote.Policy{Stages: []vote.Stage{{Group: storyGroup(approvers...), Need: 1, Remind: t.remind, Escalate: t.escalate}}, Deadline: t.silence}
}

func storyGroup(entries ...string) (g vote.Group) {
	for _, entry := range entries {
		g.Members = append(g.Members, vote.Member{Is: []string{entry}})
	}
	return g
}

// storyTurn is one answer of the model, and what comes before it.
type storyTurn struct {
	say    string
	calls  []core.ToolCall
	breaks bool          // in the first run
	busy   int           // times
	down   time.Duration // from the first time it is asked
	kills  bool
}

func newSetting() setting { return setting{tools: map[string]*storyTool{}, workers: 1} }

func (s *setting) tool(name string) *storyTool {
	if s.tools[name] == nil {
		s.tools[name] = &storyTool{spec: core.ToolSpec{Name: name}, effect: core.Allow}
	}
	s.last = s.tools[name]
	return s.last
}

type change = func(*setting) error

func always(f func(*setting)) func([]string) (change, error) {
	return func([]string) (change, error) { return func(s *setting) error { f(s); return nil }, nil }
}

func ofTool(f func(t *storyTool, args []string)) func([]string) (change, error) {
	return func(args []string) (change, error) {
		return func(s *setting) error { f(s.tool(args[0]), args[1:]); return nil }, nil
	}
}

func ofLast(f func(t *storyTool, args []string)) func([]string) (change, error) {
	return func(args []string) (change, error) {
		return func(s *setting) error {
			if s.last == nil {
				return fmt.Errorf("it is said of which tool?")
			}
			f(s.last, args)
			return nil
		}, nil
	}
}

func ofPeople(f func(s *setting, who string)) func([]string) (change, error) {
	return func(args []string) (change, error) {
		return func(s *setting) error { f(s, args[0]); return nil }, nil
	}
}

// settings are the sentences of a story's first part.
var settings = speak([]sentence[change]{
	{`the tool {tool} runs unasked`, ofTool(func(*storyTool, []string) {})},
	{`the tool {tool} asks first`, ofTool(func(t *storyTool, _ []string) { t.effect = core.Ask })},
	{`the tool {tool} is run by the client`, ofTool(func(t *storyTool, _ []string) { t.spec.Client = true })},
	{`the tool {tool} is the client's own`, ofTool(func(t *storyTool, _ []string) { t.brought = true })},
	{`it comes with a new version`, ofLast(func(t *storyTool, _ []string) { t.later = true })},
	{`the tool {tool} asks something itself`, ofTool(func(t *storyTool, _ []string) { t.asks = true })},
	{`the tool {tool} asks something itself, until it is told {text}`, ofTool(func(t *storyTool, args []string) { t.asks, t.until = true, args[0] })},
	{`the tool {tool} calls an agent elsewhere`, ofTool(func(t *storyTool, _ []string) { t.spec.Agent, t.remote = true, true })},
	{`the first answer of it is lost`, ofLast(func(t *storyTool, _ []string) { t.losing = 1 })},
	{`it does not hear the first {n} stops`, ofLast(func(t *storyTool, args []string) { t.deafTo, _ = strconv.Atoi(args[0]) })},
	{`the tool {tool} calls an agent`, ofTool(func(t *storyTool, _ []string) { t.spec.Agent = true })},
	{`the agent {tool} {rest}`, func(args []string) (change, error) {
		turns, err := readTurns(args[1])
		return func(s *setting) error { s.tool(args[0]).turns = turns; return nil }, err
	}},
	{`it may run twice`, ofLast(func(t *storyTool, _ []string) { t.spec.Delivery = core.AtLeastOnce })},
	{`it must not run twice`, ofLast(func(t *storyTool, _ []string) { t.spec.Delivery = core.AtMostOnce })},
	{`the answer is its result`, ofLast(func(t *storyTool, _ []string) { t.mode = core.UseDecisionAsToolResult })},
	{`the answer is handed to it`, ofLast(func(t *storyTool, _ []string) { t.mode = core.PassDecisionToTool })},
	{`an approval may be for the rest of the turn`, ofLast(func(t *storyTool, _ []string) { t.grants = true })},
	{`whoever asked for the work may not approve it`, ofLast(func(t *storyTool, _ []string) { t.separate = true })},
	{`only {who} may approve`, ofPeople(func(s *setting, who string) { s.approvers = append(s.approvers, who) })},
	{`only {who} may start runs and send messages`, ofPeople(func(s *setting, who string) { s.starters = append(s.starters, who) })},
	{`its people are reminded every {time}`, ofLast(func(t *storyTool, args []string) {
		every := readDuration(args[0]).Milliseconds()
		t.remind = &vote.Reminders{After: every, Every: every, Most: 3}
	})},
	{`after {time}, {who} is asked, too`, ofLast(func(t *storyTool, args []string) { t.escalates(args, false) })},
	{`after {time}, {who} is asked instead`, ofLast(func(t *storyTool, args []string) { t.escalates(args, true) })},
	{`no answer within {time} approves it`, ofLast(func(t *storyTool, args []string) {
		t.silence = &vote.Limit{Within: readDuration(args[0]).Milliseconds(), Approve: true}
	})},
	{`it takes {time}`, ofLast(func(t *storyTool, args []string) { t.takes = readDuration(args[0]) })},
	{`it fails with {text}`, ofLast(func(t *storyTool, args []string) { t.fails = args[0] })},
	{`it kills its process`, ofLast(func(t *storyTool, _ []string) { t.kills = true })},
	{`its deadline is {time} and fails it`, ofLast(func(t *storyTool, args []string) { t.due(args[0], core.DeadlineFail, "") })},
	{`its deadline is {time} and cancels it`, ofLast(func(t *storyTool, args []string) { t.due(args[0], core.DeadlineCancel, "") })},
	{`its deadline is {time} and gives it {text}`, ofLast(func(t *storyTool, args []string) { t.due(args[0], core.DeadlineResult, args[1]) })},
	{`the model is waited for {time}`, func(args []string) (change, error) {
		return func(s *setting) error { s.outage = readDuration(args[0]); return nil }, nil
	}},
	{`the model {rest}`, func(args []string) (change, error) {
		turns, err := readTurns(args[0])
		return func(s *setting) error { s.turns = turns; return nil }, err
	}},
	{`the calls of a turn run side by side`, always(func(s *setting) { s.parallel = true })},
	{`there are two workers`, always(func(s *setting) { s.workers = 2 })},
	{`people are told of what waits`, always(func(s *setting) { s.notify = true })},
	{`the first notice does not get through`, always(func(s *setting) { s.notify, s.deaf = true, 1 })},
	{`answers are kept beside the head`, always(func(s *setting) { s.inline = 1 })},
	{`the inbox takes {n} messages`, func(args []string) (change, error) {
		return func(s *setting) error { s.messages, _ = strconv.Atoi(args[0]); return nil }, nil
	}},
	{`every wake-up comes twice, at once`, always(func(s *setting) { s.doubled = true })},
	{`every wake-up is lost but those of the sweep`, always(func(s *setting) { s.lost = true })},
	{`a release brings along what it asks of the queue`, always(func(s *setting) { s.joint = true })},
	{`a sweep handles one entry`, always(func(s *setting) { s.oneByOne = true })},
	{`another run is overdue, and nobody can work on it`, always(func(s *setting) { s.stuck = true })},
	{`a copy of {rest} lands {rest}`, func(args []string) (change, error) { return readMischief(args[0], args[1], lateCopy) }},
	{`the worker stands still for {time} after {rest}`, func(args []string) (change, error) { return readMischief(args[1], args[0], standsAfter) }},
	{`the worker stands still for {time} before {rest}`, func(args []string) (change, error) { return readMischief(args[1], args[0], standsBefore) }},
})

func (t *storyTool) escalates(args []string, replace bool) {
	t.escalate = &vote.Escalation{After: readDuration(args[0]).Milliseconds(), To: storyGroup(args[1]), Replace: replace}
}

func (t *storyTool) due(within string, outcome core.DeadlineOutcome, result string) {
	t.deadline = core.Deadline{Within: readDuration(within).Milliseconds(), Outcome: outcome, Result: core.Encode(result)}
}

// readTurns reads what the model does, one thing after the other: `calls refund {"amount":5} and
// mail {}, then says "Done."`.
func readTurns(said string) (turns []storyTurn, err error) {
	var next storyTurn
	for _, part := range strings.Split(said, ", then ") {
		whole, err := next.read(part)
		if err != nil {
			return nil, err
		}
		if whole {
			turns = append(turns, next)
			next = storyTurn{}
		}
	}
	return turns, nil
}

// read takes in one part; whole says whether the turn is complete.
func (t *storyTurn) read(part string) (whole bool, err error) {
	verb, rest, _ := strings.Cut(part, " ")
	switch {
	case verb == "says":
		return true, json.Unmarshal([]byte(rest), &t.say)
	case verb == "calls":
		for _, call := range strings.Split(rest, " and ") {
			tool, arguments, _ := strings.Cut(call, " ")
			if arguments == "" {
				arguments = "{}"
			}
			if !json.Valid([]byte(arguments)) {
				return false, fmt.Errorf("no JSON: %s", arguments)
			}
			t.calls = append(t.calls, core.ToolCall{ID: tool, Name: tool, Arguments: json.RawMessage(arguments)})
		}
		return true, nil
	case part == "breaks in the first run":
		t.breaks = true
	case part == "is busy twice":
		t.busy = 2
	case strings.HasPrefix(part, "is down for "):
		t.down = readDuration(strings.TrimPrefix(part, "is down for "))
	case part == "kills its process":
		t.kills = true
		return true, nil
	default:
		return false, fmt.Errorf("a model does not %q", part)
	}
	return false, nil
}
