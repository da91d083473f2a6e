package agentfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

const decided = `model: {provider: scripted, turns: [{say: hi}]}
tools: [{name: pay, go: pay}, {name: wire, go: wire}]
groups:
  team: [token:anna, token:eve]
  finance: [token:ben, {person: cy, is: [token:cy, "link:cy@example.com"]}, token:dora]
approvals:
  default: {group: team}
  two: {group: finance, need: 2, deny: majority}
permissions:
  ask:
    - pay
    - {tool: wire, approval: two}
    - {tool: wire, approval: two, when: {argument: amount, above: 10}}
`

func TestPoliciesReachTheRules(t *testing.T) {
	d, err := agentfile.Parse("a.yaml", []byte(decided), noFiles)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := d.Rules(map[string]core.ToolSpec{"pay": {}, "wire": {}}, agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	if p := rules.Terms().Policy; p == nil || p.Name != "default" || p.Counts() {
		t.Errorf("the default is %+v", p)
	}
	if v := rules.Gate(core.ToolCall{Name: "pay", Arguments: []byte(`{}`)}, core.State{}); v.Policy == nil || v.Policy.Name != "default" {
		t.Errorf("pay: %+v", v.Policy)
	}
	v := rules.Gate(core.ToolCall{Name: "wire", Arguments: []byte(`{"amount":20}`)}, core.State{})
	if p := v.Policy; p == nil || p.Name != "two" || len(p.Stages) != 1 || p.Stages[0].Need != 2 || p.Stages[0].Deny() != 2 || !p.Counts() {
		t.Errorf("wire: %+v", v.Policy)
	}
}

// A rule that names no policy demands the default one, also beside a rule that names another.
func TestTheDefaultPolicyIsDemandedBesideAnother(t *testing.T) {
	for name, c := range map[string]struct{ old, new string }{
		"a rule without a policy": {"{tool: wire, approval: two, when", "{tool: wire, when"},
		"the operator's rule":     {"", ""},
	} {
		d, err := agentfile.Parse("a.yaml", []byte(strings.Replace(decided, c.old, c.new, 1)), noFiles)
		if err != nil {
			t.Fatal(err)
		}
		layers := agent.Layers{}
		if c.old == "" {
			over, err := agentfile.ParsePolicy("policy.yaml", []byte("ask: [wire]"))
			if err != nil {
				t.Fatal(err)
			}
			layers.Policy = &over
		}
		rules, err := d.Rules(map[string]core.ToolSpec{"pay": {}, "wire": {}}, layers)
		if err != nil {
			t.Fatal(err)
		}
		v := rules.Gate(core.ToolCall{Name: "wire", Arguments: []byte(`{"amount":20}`)}, core.State{})
		if p := v.Policy; p == nil || p.Name != "two+default" || len(p.Stages) != 2 || p.Stages[1].Group.Name != "team" {
			t.Errorf("%s: %+v", name, v.Policy)
		}
	}
}

func TestPoliciesThatMeanNothing(t *testing.T) {
	for name, c := range map[string]struct{ old, new, why string }{
		"no such group":                      {"{group: team}", "{group: tema}", `there is no group "tema"`},
		"no such policy":                     {"approval: two}", "approval: three}", `there is no policy "three"`},
		"more than there are":                {"need: 2", "need: 4", "has 3 people, and 4 must approve"},
		"no one":                             {"need: 2", "need: 0", "need is 1 to 16 people"},
		"a majority of any number":           {"token:dora]", "role:admin]", "list them by name"},
		"twice in a group":                   {"token:dora]", "token:ben]", "twice"},
		"twice as two people":                {"token:eve]", "token:cy]", "two different people"},
		"a person who is many":               {"[token:cy, ", "[token:c*, ", "one person"},
		"a person by a group":                {"[token:cy, ", "['claim:groups=finance', ", "an account as claim:sub=ID or claim:email=ADDRESS"},
		"a person by a claim, beside others": {"[token:cy, ", "['claim:sub=u-7', ", "another person is known by a claim and might be the same one"},
		"a role there is not":                {"token:eve]", "role:boss]", `there is no role "boss"`},
		"a claim without a value":            {"token:eve]", "'claim:groups']", "write claim:NAME=VALUE"},
		"a name":                             {"token:eve]", "eve]", `"eve" is not a caller; write token:NAME, link:NAME, hook:NAME/WHO, intake or role:ROLE, with * for any text in a name; a group can also list claim:NAME=VALUE`},
		"a claim in two parts":               {"token:eve]", "'claim:a b=c']", "write claim:NAME=VALUE"},
		"an empty group":                     {"[token:anna, token:eve]", "[]", "has no members"},
		"one result of two people":           {"{tool: wire, approval: two}", "{tool: wire, approval: two, mode: use_decision_as_tool_result}", "can't give one result"},
	} {
		text := strings.Replace(decided, c.old, c.new, 1)
		if text == decided {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := agentfile.Parse("a.yaml", []byte(text), noFiles); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := agentfile.ParseNarrow([]byte(`{"ask":[{"tool":"pay","approval":"two"}]}`)); err == nil || !strings.Contains(err.Error(), "belongs to the rules of an agent") {
		t.Errorf("a run's own rule: %v", err)
	}
}

// A person may be an account of an identity provider where all members are persons.
func TestAPersonMayBeAnAccount(t *testing.T) {
	text := decided
	for _, name := range []string{"anna", "ben", "dora", "eve"} {
		text = strings.ReplaceAll(text, "token:"+name, "{person: "+name+", is: [token:"+name+", 'claim:email="+name+"@example.com', 'claim:sub=u-"+name+"']}")
	}
	text = strings.ReplaceAll(text, "- token:", "- ")
	if _, err := agentfile.Parse("a.yaml", []byte(text), noFiles); err != nil {
		t.Error(err)
	}
}

// timed is a policy with all that a policy says of times.
const timed = `model: {provider: scripted, turns: [{say: hi}]}
tools: [{name: pay, go: pay}]
groups: {team: [token:anna, token:eve], board: [token:ben]}
approvals:
  default:
    group: team
    remind: {after: 4h, every: 24h, most: 3}
    escalate: {after: 48h, to: board, replace: true}
    deadline: {within: 120h, then: approve}
    hours: {days: [mon, fri], from: "09:00", to: "17:30", zone: Europe/Berlin}
`

func TestTimesOfPolicies(t *testing.T) {
	const hour = int64(3600_000)
	p := parse(t, timed).Approval
	want := &vote.Policy{Name: "default", Deadline: &vote.Limit{Within: 120 * hour, Approve: true}, Hours: &vote.Hours{Zone: "Europe/Berlin", Days: []int{1, 5}, From: 540, To: 1050},
		Stages: []vote.Stage{{Group: p.Stages[0].Group, Need: 1, Remind: &vote.Reminders{After: 4 * hour, Every: 24 * hour, Most: 3},
			Escalate: &vote.Escalation{After: 48 * hour, To: vote.Group{Name: "board", Members: []vote.Member{{Is: []string{"token:ben"}}}}, Replace: true}}}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]*vote.Reminders{
		"4h":                      {After: 4 * hour, Most: 1},
		"{after: 4h}":             {After: 4 * hour, Most: 1},
		"{after: 4h, every: 24h}": {After: 4 * hour, Every: 24 * hour, Most: vote.MostReminders},
		"{after: 1d, every: 2d}":  {After: 24 * hour, Every: 48 * hour, Most: vote.MostReminders},
	} {
		short := strings.Replace(timed, "{after: 4h, every: 24h, most: 3}", text, 1)
		if diff := cmp.Diff(want, parse(t, short).Approval.Stages[0].Remind); diff != "" {
			t.Errorf("remind: %s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"120h", "5d"} {
		if got := parse(t, strings.Replace(timed, "{within: 120h, then: approve}", text, 1)).Approval.Deadline; *got != (vote.Limit{Within: 120 * hour}) {
			t.Errorf("a deadline of %s in short: %+v", text, got)
		}
	}
}

func TestTimesThatMeanNothing(t *testing.T) {
	for name, c := range map[string]struct{ old, new, why string }{
		"a reminder after the deadline":     {"remind: {after: 4h,", "remind: {after: 120h,", "a.yaml:6: remind comes after the deadline"},
		"an escalation after it":            {"escalate: {after: 48h", "escalate: {after: 121h", "a.yaml:6: escalate comes after the deadline"},
		"no reminder":                       {"most: 3", "most: 0", "a.yaml:7: most is 1 to 8"},
		"too many":                          {"most: 3", "most: 9", "most is 1 to 8"},
		"several at once":                   {"every: 24h, most: 3", "most: 3", "most needs every"},
		"days and hours":                    {"within: 120h", "within: 5d12h", "must be a duration such as 90s, 10m, 24h or 7d"},
		"half a day":                        {"within: 120h", "within: 1.5d", "must be a duration"},
		"no days":                           {"within: 120h", "within: 0d", "must be more than 0"},
		"too many days":                     {"within: 120h", "within: 367d", "a year"},
		"no time":                           {"{after: 4h, every: 24h, most: 3}", "{every: 24h}", "after is missing"},
		"ten years":                         {"within: 120h", "within: 87600h", "at most 8784h0m0s, a year"},
		"no such group":                     {"to: board", "to: bored", `there is no group "bored"`},
		"the same group":                    {"to: board", "to: team", "the group team is asked already"},
		"too few to take over":              {"group: team\n", "group: team\n    need: 2\n", "has 1 people, and 2 must approve"},
		"silence of two":                    {"group: team\n", "group: team\n    need: 2\n", "several people can't approve by silence"},
		"a group that grows while it votes": {"replace: true}\n    deadline: {within: 120h, then: approve}", "replace: false}\n    deny: majority\n    need: 2", "a group can't grow while it votes"},
		"no day":                            {"days: [mon, fri]", "days: []", "days"},
		"a day that is none":                {"days: [mon, fri]", "days: [monday]", `"monday" is not a day; write sun, mon`},
		"no such zone":                      {"zone: Europe/Berlin", "zone: Berlin", `there is no time zone "Berlin"`},
		"the machine's own zone":            {"zone: Europe/Berlin", "zone: Local", "there is no time zone"},
		"work that ends before it begins":   {`from: "09:00"`, `from: "18:00"`, "on the same day"},
		"a time without quotes":             {`from: "09:00"`, "from: 9", "from"},
		"hours without times": {`    remind: {after: 4h, every: 24h, most: 3}
    escalate: {after: 48h, to: board, replace: true}
    deadline: {within: 120h, then: approve}
`, "", "this one has none; remove hours"},
	} {
		text := strings.Replace(timed, c.old, c.new, 1)
		if text == timed {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := agentfile.Parse("a.yaml", []byte(text), noFiles); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
