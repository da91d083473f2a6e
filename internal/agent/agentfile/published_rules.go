package agentfile

import (
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func permissionsPart() part {
	return closed("Which calls run, wait for a person, or are refused. A block wins, then a deny, then an ask; an allow that is narrower wins over an ask.", part{
		"default": word("For calls no rule is about: ask (also without this), allow or deny.",
			core.Ask.String(), core.Allow.String(), core.Deny.String()),
		"block": rulesPart("Calls that end the run, as blocked.", toldReason),
		"deny":  rulesPart("Calls that are refused; the model is told the reason, and goes on.", toldReason),
		"ask":   rulesPart("Calls that wait for a person.", shownReason, modeMember, grantMember, notByMember),
		"allow": rulesPart("Calls that run."),
	})
}

func policyPart() part {
	return closed("Permissions over all agents: they take away, and allow nothing.", part{
		"block": rulesPart("Calls that end the run, as blocked.", toldReason),
		"deny":  rulesPart("Calls that are refused; the model is told the reason, and goes on.", toldReason),
		"ask":   rulesPart("Calls that wait for a person.", shownReason, grantMember, notByMember),
	})
}

// member is one of a mapping.
type member struct {
	name string
	part part
}

var (
	toldReason  = member{"reason", textPart("Why, told to the model.")}
	shownReason = member{"reason", textPart("Why, shown to the person who is asked.")}
	grantMember = member{"grant", onOff("false: every call is asked about. Without it, an approval may also allow the later calls that the same rules ask about.")}
	notByMember = member{"not_by", word("Who may not approve. starter: everyone who started or retried a run of the thread, sent it a message or answered what it asked.", core.NotByStarter)}
	modeMember  = member{"mode", word("What the decision does: runs the call (replay_tool_call, also without this), becomes its result, or is handed to the tool.",
		core.ReplayToolCall.String(), core.UseDecisionAsToolResult.String(), core.PassDecisionToTool.String())}
)

// rulesPart is a list of rules, whose long form also has these members.
func rulesPart(says string, more ...member) part {
	members := part{
		"tool": shaped("The tool's name, or a pattern in which * is any text. Any tool, with target and without this.", agent.ToolGlob.String()),
		"target": shaped("Where the calls go, whatever the tool is called: http:METHOD HOST/PATH, lambda:FUNCTION, mcp:SERVER/TOOL or go:FUNCTION, "+
			"with * for any text; the method and what follows a slash may be left out. Under deny also command:PROGRAM, of an effect.", agent.AimForm.String()),
		"when": part{
			"description": "A condition on the arguments, or a list of conditions that must all hold.",
			"anyOf":       []part{condition, listOf("Conditions that must all hold.", condition).with(part{"minItems": 1})},
		},
	}
	for _, m := range more {
		members[m.name] = m.part
	}
	short := textPart("A tool's name, a pattern with *, a target, or one of these with conditions in parentheses, as in 'Bash(rm *)', 'pay(amount > 100)' or 'http:POST api.example.com/pay/*'.")
	long := closed("A rule with conditions and more.", members).with(part{"anyOf": []part{given("tool"), given("target")}})
	return listOf(says, part{"anyOf": []part{short.with(part{"minLength": 1}), long}})
}

// condition refers to [conditionPart], which a schema with rules has among its definitions.
var condition = part{"$ref": "#/definitions/condition"}

func conditionPart() part {
	scalar := []string{"string", "number", "boolean"}
	tests := []part{{"anyOf": givenEach(boundTests)}}
	return closed("A condition: an argument and one test. Bounds may stand together.", part{
		"argument":   filled("The name of the argument, or a path: a.b for a member inside one, a.0 for a place in a list."),
		"above":      amount("The argument is a number above this."),
		"below":      amount("The argument is a number below this."),
		"at_least":   amount("The argument is this number or above."),
		"at_most":    amount("The argument is this number or below."),
		"equals":     part{"type": scalar, "description": "The argument is this."},
		"not_equals": part{"type": scalar, "description": "The argument is another one of this type."},
		"in":         listOf("The argument is one of these.", part{"type": scalar}).with(part{"minItems": 1}),
		"glob":       filled("The argument is text that fits the pattern, in which * is any text."),
		"not_glob":   filled("The argument is text that does not fit the pattern."),
		"regex":      expressionPart("It matches somewhere in the argument, a text.").with(part{"minLength": 1}),
		"not_regex":  expressionPart("It matches nowhere in the argument, a text.").with(part{"minLength": 1}),
		"exists":     onOff("true: the argument is there, even if null. false: it is not."),
	}, "argument").holds(exactlyOne(append(tests, givenEach(otherTests)...)...))
}

// givenEach are conditions: one of the members is there.
func givenEach(names []string) []part {
	var conditions []part
	for _, name := range names {
		conditions = append(conditions, given(name))
	}
	return conditions
}
