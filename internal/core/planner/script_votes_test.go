package planner_test

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// readScriptPolicy reads "NEED:NAME,NAME" and more stages behind a >. NEED with an m is denied by a
// majority. Behind it are, in seconds: ;remind=AFTER/EVERYxMOST ;add=AFTER:NAME,NAME, which asks
// more people, ;replace=AFTER:NAME, which asks others, ;within=TIME, a deadline, and ;silence=TIME,
// which approves then.
func readScriptPolicy(text string) *vote.Policy {
	p := &vote.Policy{Name: "p"}
	for i, stage := range strings.Split(text, ">") {
		words := strings.Split(stage, ";")
		need, names, _ := strings.Cut(words[0], ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(need, "m"))
		s := vote.Stage{Group: scriptGroup("g"+strconv.Itoa(i+1), names), Need: n, Majority: strings.HasSuffix(need, "m")}
		for _, word := range words[1:] {
			readScriptTimes(p, &s, word)
		}
		p.Stages = append(p.Stages, s)
	}
	return p
}

func scriptGroup(name, members string) vote.Group {
	g := vote.Group{Name: name}
	for m := range strings.SplitSeq(members, ",") {
		g.Members = append(g.Members, vote.Member{Is: []string{m}})
	}
	return g
}

func readScriptTimes(p *vote.Policy, s *vote.Stage, word string) {
	name, value, _ := strings.Cut(word, "=")
	after, more, _ := strings.Cut(value, ":")
	seconds := func(text string) int64 { n, _ := strconv.Atoi(text); return int64(n) * 1000 }
	switch name {
	case "remind":
		first, rest, _ := strings.Cut(value, "/")
		every, most, _ := strings.Cut(rest, "x")
		n, _ := strconv.Atoi(most)
		s.Remind = &vote.Reminders{After: seconds(first), Every: seconds(every), Most: n}
	case "add", "replace":
		s.Escalate = &vote.Escalation{After: seconds(after), To: scriptGroup("board", more), Replace: name == "replace"}
	case "within", "silence":
		p.Deadline = &vote.Limit{Within: seconds(value), Approve: name == "silence"}
	}
}

// vote reads "CALL NAME DECISION": it is stored as the frontend and the store do. With NAME/GROUP,
// the frontend has read the question when it asked that group alone.
func (p *scriptPlayer) vote(rest string) {
	part := strings.SplitN(rest, " ", 3)
	call := part[0]
	by, readAs, _ := strings.Cut(part[1], "/")
	sus := p.suspended(call)
	suspended, _, ok := core.FindSuspended(p.journal[p.suspendedIn(sus)-1], sus)
	if !ok || !suspended.Counted() {
		p.t.Fatalf("no vote is open on %s", call)
	}
	suspended = suspended.As(p.head.Calls[call])
	stage, r := suspended.Asked(), p.readScriptDecision(part[2])
	say := vote.Yes
	switch {
	case r.Action == core.ActionCancel:
		say = vote.No
	case !core.IsNull(r.Arguments):
		say = vote.Edit
	}
	if !p.head.Votes[sus].Takes(by, "", stage.Need, stage.Deny()) || !slices.Contains(stage.Group.Entries(), by) {
		p.say("vote of %s: refused", by)
		return
	}
	if p.head.Votes[sus] == nil {
		p.head.Votes[sus] = vote.Tally{}
	}
	p.head.Votes[sus].Add(by, "", say)
	var groups []string
	for _, s := range suspended.Deciding().Stages {
		if slices.Contains(s.Group.Entries(), by) {
			groups = append(groups, s.Group.Name)
		}
	}
	p.signal(core.VoteKey(by, sus), core.Signal{Kind: core.SignalVote, Call: call, ID: r.DecisionID, By: by, As: cmp.Or(readAs, strings.Join(groups, ",")), Value: core.Encode(r)})
}

func (p *scriptPlayer) suspendedIn(sus string) int64 {
	seq, _ := core.SuspensionSeq(sus)
	return seq
}

// countVotes does to the counts what a commit wants.
func (p *scriptPlayer) countVotes(now map[string]vote.Tally, c *plans.Commit) {
	p.head.Votes = core.CloneMap(now)
	for sus, begin := range c.Votes {
		delete(p.head.Votes, sus)
		if len(begin) > 0 {
			p.head.Votes[sus] = maps.Clone(begin)
		}
	}
}

// sayVotes is what a commit does to the counts.
func sayVotes(votes map[string]vote.Tally) string {
	var words []string
	for _, sus := range slices.Sorted(maps.Keys(votes)) {
		if votes[sus] == nil {
			words = append(words, "closes a vote")
			continue
		}
		word := "opens a vote"
		for _, name := range slices.Sorted(maps.Keys(votes[sus])) {
			word += " " + name + map[vote.Say]string{vote.Yes: " for", vote.Spent: " spent"}[votes[sus][name]]
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
