package agentfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// terms reads how runs are executed, and what ends them.
func (s *source) terms(o *object, d *agent.Definition) {
	d.Parallel = o.One("executor", "sequential", "parallel") == "parallel"
	d.Continue = o.One("while_waiting", "wait", "continue") == "continue"
	if o.One("yield_when", form.YieldNever, agent.YieldToNewer) == agent.YieldToNewer {
		d.YieldWhen = agent.YieldToNewer
	}
	for _, n := range o.List("stop") {
		if spec, ok := s.stop(n); ok {
			d.Stop = append(d.Stop, spec)
		}
	}
	d.BoundRounds()
	d.Budget = s.budget(o.Take("budget"))
	d.Deadlines = s.deadlines(o.Take("deadlines"))
	d.Results = s.results(o.Take("results"))
}

// leastResult is the lower bound of results: a smaller result would only hold the note that it was
// cut.
const leastResult = 1 << 10

func (s *source) results(n *yaml.Node) int64 {
	size := s.bytes(n, "results")
	if size > 0 && size < leastResult {
		s.Refuse(n, "results must be at least 1KiB")
	}
	return size
}

// stopValue reads the one value of a stop rule into its place.
type stopValue func(s *source, n *yaml.Node, name string, spec *stoprule.Spec)

// stopValues read the values of stop rules, by type.
var stopValues = map[string]stopValue{
	"max_rounds":         rounds,
	"timeout":            counted(func(s *stoprule.Spec) *int { return &s.Seconds }),
	"token_budget":       counted(func(s *stoprule.Spec) *int { return &s.MaxTotal }),
	"consecutive_errors": counted(func(s *stoprule.Spec) *int { return &s.Max }),
	"loop_detection":     counted(func(s *stoprule.Spec) *int { return &s.Window }),
	"stop_on_tool":       written(func(s *stoprule.Spec) *string { return &s.ToolName }),
	"max_cost":           inDollars,
	"content_match":      written(func(s *stoprule.Spec) *string { return &s.Pattern }),
}

func counted(place func(*stoprule.Spec) *int) stopValue {
	return func(s *source, n *yaml.Node, name string, spec *stoprule.Spec) { *place(spec) = s.count(n, name) }
}

func rounds(s *source, n *yaml.Node, name string, spec *stoprule.Spec) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Value == form.Unlimited {
		return
	}
	number, err := strconv.ParseUint(n.Value, 10, 31)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil {
		s.Refuse(n, "%s must be a whole number from 0, or %s", name, form.Unlimited)
	}
	spec.Rounds = int(number)
}

func written(place func(*stoprule.Spec) *string) stopValue {
	return func(s *source, n *yaml.Node, name string, spec *stoprule.Spec) { *place(spec) = s.plainText(n, name) }
}

// stop reads a stop rule: {type: TYPE, MEMBER: VALUE}, or {TYPE: VALUE}, in which a timeout is a
// duration.
func (s *source) stop(n *yaml.Node) (stoprule.Spec, bool) {
	o, ok := s.Object(n, "a stop rule")
	if !ok {
		return stoprule.Spec{}, false
	}
	types := slices.Sorted(maps.Keys(form.StopRules))
	if o.Member("type") == nil {
		return s.shortStop(o, types)
	}
	defer o.Close()
	member, known := form.StopRules[o.One("type", types...)]
	if !known {
		return stoprule.Spec{}, false
	}
	spec := stoprule.Spec{Type: o.Member("type").Value}
	value := o.Take(member)
	if value == nil {
		s.Refuse(n, "the stop rule %s needs %s", spec.Type, member)
		return stoprule.Spec{}, false
	}
	stopValues[spec.Type](s, value, member, &spec)
	s.checkStop(value, spec)
	return spec, true
}

func (s *source) shortStop(o *object, types []string) (stoprule.Spec, bool) {
	if len(o.Keys) != 1 || stopValues[o.Keys[0].Value] == nil {
		s.Refuse(o.Node, "a stop rule needs type and its value, or one of %s with its value", strings.Join(types, ", "))
		return stoprule.Spec{}, false
	}
	name := o.Keys[0].Value
	spec, value := stoprule.Spec{Type: name}, o.Take(name)
	if name == "timeout" {
		spec.Seconds = int(s.duration(value, name) / time.Second)
		return spec, true
	}
	stopValues[name](s, value, name, &spec)
	s.checkStop(value, spec)
	return spec, true
}

func (s *source) checkStop(n *yaml.Node, spec stoprule.Spec) {
	s.expression(n, spec.Pattern)
	if spec.Window > form.MostWindow {
		s.Refuse(n, "loop_detection looks at most %d rounds back, not %d", form.MostWindow, spec.Window)
	}
}

func (s *source) budget(n *yaml.Node) agent.Budget {
	if n == nil {
		return agent.Budget{}
	}
	o, ok := s.Object(n, "budget")
	if !ok {
		return agent.Budget{}
	}
	defer o.Close()
	return agent.Budget{Step: s.count(o.Take("step"), "step"), Run: s.count(o.Take("run"), "run"), Cost: s.costBudget(o.Take("cost"))}
}

// deadlines reads the deadlines by kind of wait.
func (s *source) deadlines(n *yaml.Node) map[core.Kind]agent.Deadline {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "deadlines")
	if !ok {
		return nil
	}
	defer o.Close()
	var out map[core.Kind]agent.Deadline
	for _, kind := range []core.Kind{core.KindApproval, core.KindClient, core.KindInput} {
		d := s.deadline(o.Take(kind.String()), kind.String())
		if d == nil {
			continue
		}
		if kind == core.KindApproval && d.Outcome == core.DeadlineResult {
			s.Refuse(o.Member(kind.String()), "a deadline cannot approve a call; use then: fail or cancel")
		}
		if out == nil {
			out = map[core.Kind]agent.Deadline{}
		}
		out[kind] = *d
	}
	return out
}

// deadline reads a duration, or a mapping that also sets the outcome; nil if there is none.
func (s *source) deadline(n *yaml.Node, name string) *agent.Deadline {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode:
		return &agent.Deadline{Within: s.within(n, name)}
	}
	o, ok := s.Object(n, "a deadline")
	if !ok {
		return nil
	}
	defer o.Close()
	var d agent.Deadline
	if within := o.Take("within"); within == nil {
		s.Refuse(n, "a deadline needs within: how long, as in 24h")
	} else {
		d.Within = s.within(within, "within")
	}
	then := o.One("then", core.DeadlineFail.String(), core.DeadlineCancel.String(), core.DeadlineResult.String())
	_ = d.Outcome.UnmarshalText([]byte(then)) // one of the three; without it, it fails
	if result := o.Take("result"); result != nil {
		d.Result = s.value(result)
	}
	if (d.Result != nil) != (d.Outcome == core.DeadlineResult) {
		s.Refuse(n, "result and then: result go together; set both or neither")
	}
	return &d
}

func (s *source) within(n *yaml.Node, name string) int64 {
	d := s.duration(n, name)
	if d%time.Millisecond != 0 {
		s.Refuse(n, "%s is in whole milliseconds, not %q", name, n.Value)
	}
	return d.Milliseconds()
}

// wholeDays is a duration that Go's don't know. 99999 days still fit one.
var wholeDays = lazyregexp.New(`^\+?([0-9]{1,5})d$`)

// parseDuration reads a duration as Go does, and whole days of 24 hours, such as 7d.
func parseDuration(text string) (time.Duration, error) {
	if found := wholeDays.FindStringSubmatch(text); found != nil {
		days, err := strconv.Atoi(found[1])
		return time.Duration(days) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// duration reads a positive duration such as 90s, 10m, 24h or 7d. It refuses fractions of the unit
// that is stored, so that no limit is rounded to 0.
func (s *source) duration(n *yaml.Node, name string) time.Duration {
	d, err := parseDuration(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || err != nil:
		s.Refuse(n, "%s must be a duration such as 90s, 10m, 24h or 7d", name)
		return 0
	case d <= 0:
		s.Refuse(n, "%s must be more than 0", name)
		return 0
	case name == "timeout" && d%time.Second != 0:
		s.Refuse(n, "%s is in whole seconds, not %q", name, n.Value)
	}
	return d
}

// count reads a number from 0; 0 if n is nil.
func (s *source) count(n *yaml.Node, name string) int {
	if n == nil {
		return 0
	}
	number, err := strconv.ParseUint(n.Value, 10, 31)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil {
		s.Refuse(n, "%s must be a whole number from 0", name)
	}
	return int(number)
}

func (s *source) plainText(n *yaml.Node, name string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		s.Refuse(n, "%s must be text, not %s; put it in quotes", name, strictyaml.KindOf(n))
		return ""
	}
	return n.Value
}
