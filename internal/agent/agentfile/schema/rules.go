package schema

import (
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func permissionsPart() part {
	return closed("Which calls run, wait for an approver, or are refused. Block beats deny beats ask beats allow, but an allow that is narrower (fewer tools, or more conditions including all of the ask's) beats an ask.", part{
		"default": word("For calls that no rule matches. Default ask, under which client tools run.",
			core.Ask.String(), core.Allow.String(), core.Deny.String()),
		"block": rulesPart("Calls that end the run, as blocked.", toldReason),
		"deny":  rulesPart("Calls that are refused; the model sees the reason.", toldReason),
		"ask":   rulesPart("Calls that wait for an approver.", shownReason, modeMember, grantMember, notByMember, approvalMember),
		"allow": rulesPart("Calls that run."),
	})
}

func policyPart() part {
	return closed("Restrictions for all agents. A policy allows nothing, and applies only where one of its rules matches.", part{
		"block": rulesPart("Calls that end the run, as blocked.", toldReason),
		"deny":  rulesPart("Calls that are refused; the model sees the reason.", toldReason),
		"ask":   rulesPart("Calls that wait for an approver.", shownReason, grantMember, notByMember),

		"groups": groupsPart(), "approvals": approvalsPart(),
	})
}

// member is one of a mapping.
type member struct {
	name string
	part part
}

var (
	toldReason     = member{"reason", textPart("The reason, for the model.")}
	shownReason    = member{"reason", textPart("The reason, for the approver.")}
	grantMember    = member{"grant", onOff("false: every call is asked about. By default an approval in mode replay_tool_call may also allow later calls that the same rules ask about.")}
	notByMember    = member{"not_by", word("Who may not approve. starter: callers who started or retried a run of the thread, sent it a message or answered its question. They may deny, and can't edit another call into this rule.", core.NotByStarter)}
	approvalMember = member{"approval", textPart("The policy under approvals that decides. If several rules that ask match, their policies follow one another. Default: the policy named default, else one of the approvers.")}
	modeMember     = member{"mode", word("What the decision does: runs the approved call (replay_tool_call, default), becomes its result (use_decision_as_tool_result), or is passed to the tool (pass_decision_to_tool).",
		core.ReplayToolCall.String(), core.UseDecisionAsToolResult.String(), core.PassDecisionToTool.String())}
)

// rulesPart is a list of rules, whose long form also has these members.
func rulesPart(says string, more ...member) part {
	members := part{
		"tool": shaped("The tool's name, or a pattern in which * is any text. With target it may be omitted: any tool.", agent.ToolGlob.String()),
		"target": shaped("Where calls go, independent of the tool's name: http:METHOD HOST/PATH, lambda:FUNCTION, mcp:SERVER/TOOL, a2a:HOST or go:FUNCTION, "+
			"with * for any text; the method and the part after a slash may be omitted. Under deny also command:PROGRAM of an effect, which matches the program as written and its last path element, but no renamed copy. "+
			"The case and final dot of a host are ignored; hosts beyond ASCII are written as xn--... Rules for a name do not cover its addresses: deny both. Paths are compared with the arguments filled in. "+
			"What only the server can decide, such as whether /Pay, /%70ay and //pay are /pay, matches block, deny and ask, not allow. A redirect is followed only if no target rule refuses its destination, or asks about it without having asked about the call. "+
			"A target does not cover what a function, server or agent does next. A newer version's targets are compared with the tools of the version that runs.", agent.AimForm.String()),
		"when": part{
			"description": "A condition on the arguments, or a list of conditions that must all hold.",
			"anyOf":       []part{condition, listOf("Conditions that must all hold.", condition).with(part{"minItems": 1})},
		},
	}
	for _, m := range more {
		members[m.name] = m.part
	}
	short := textPart("A tool's name, a pattern with *, a target, or one of these with conditions in parentheses, as in 'Bash(rm *)', 'pay(amount > 100)' or 'http:POST api.example.com/pay/*'. 'Bash(rm *)' is a glob on the only text argument; with none or several texts it can't be decided. Comparisons are joined by ' && ', with text in double quotes, in which \\\" is a quote and any other backslash is a backslash.")
	long := closed("A rule with conditions and more.", members).with(part{"anyOf": []part{given("tool"), given("target")}})
	return listOf(says, part{"anyOf": []part{short.with(part{"minLength": 1}), long}})
}

// condition refers to [conditionPart], which a schema with rules has among its definitions.
var condition = part{"$ref": "#/definitions/condition"}

func conditionPart() part {
	scalar := []string{"string", "number", "boolean"}
	tests := []part{{"anyOf": givenEach(form.BoundTests)}}
	return closed("A condition: an argument and one test. Bounds can be combined.", part{
		"argument":   filled("The name of the argument, or a path: a.b for a member inside one, a.0 for a place in a list."),
		"above":      amount("The argument is a number above this."),
		"below":      amount("The argument is a number below this."),
		"at_least":   amount("The argument is this number or above."),
		"at_most":    amount("The argument is this number or below."),
		"equals":     part{"type": scalar, "description": "The argument is this value."},
		"not_equals": part{"type": scalar, "description": "The argument is another value of the same type."},
		"in":         listOf("The argument is one of these.", part{"type": scalar}).with(part{"minItems": 1}),
		"glob":       filled("The argument is text that fits the pattern, in which * is any text."),
		"not_glob":   filled("The argument is text that does not fit the pattern."),
		"regex":      expressionPart("The argument is text that the expression matches somewhere.").with(part{"minLength": 1}),
		"not_regex":  expressionPart("The argument is text that the expression matches nowhere.").with(part{"minLength": 1}),
		"exists":     onOff("true: the argument is present, even if null. false: it is absent."),
	}, "argument").holds(exactlyOne(append(tests, givenEach(form.OtherTests)...)...))
}

// givenEach are conditions: one of the members is there.
func givenEach(names []string) []part {
	var conditions []part
	for _, name := range names {
		conditions = append(conditions, given(name))
	}
	return conditions
}
