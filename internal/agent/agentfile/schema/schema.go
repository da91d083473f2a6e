// Package schema publishes the JSON Schemas of agent files, scripts, policies and hook files.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// part is a JSON Schema, or a piece of one.
type part map[string]any

// The kinds of files there is a schema of; see [Of].
const (
	Agent  = "agent"
	Script = "script"
	Policy = "policy"
	Hook   = "hook"
)

// Kinds are the kinds of files that [Of] knows.
func Kinds() []string { return []string{Agent, Hook, Policy, Script} }

// Of is the published JSON Schema of a kind of file, for completion, hover text and validation
// in editors. It uses draft-07, which every version of the usual YAML language server reads; newer
// drafts need version 2.0. A file that passes may still be refused when it is loaded, since a
// schema sees neither other files nor the functions of a program. A file that loads always passes.
// A kind that is not one of [Kinds] is an error.
func Of(kind string) (json.RawMessage, error) {
	var root part
	switch kind {
	case Agent:
		root = agentPart().with(part{"definitions": part{"condition": conditionPart()}})
	case Script:
		root = part{"anyOf": []part{turnsPart(), closed("The answers of a scripted model.", part{"turns": turnsPart()}, "turns")}}
	case Hook:
		root = hookPart()
	case Policy:
		root = policyPart().with(part{"definitions": part{"condition": conditionPart()}})
	default:
		return nil, fmt.Errorf("unknown schema %q; it is one of %s", kind, strings.Join(Kinds(), ", "))
	}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Dormouse: " + kind
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("agent: encoding the schema of %s: %w", kind, err)
	}
	return out.Bytes(), nil
}

// closed is a mapping with these members and no others.
func closed(says string, members part, required ...string) part {
	p := part{"type": "object", "description": says, "properties": members, "additionalProperties": false}
	if len(required) > 0 {
		p["required"] = required
	}
	return p
}

func textPart(says string) part { return part{"type": "string", "description": says} }

func filled(says string) part { return part{"type": "string", "description": says, "minLength": 1} }

func onOff(says string) part { return part{"type": "boolean", "description": says} }

func anything(says string) part { return part{"description": says} }

func amount(says string) part { return part{"type": "number", "description": says} }

// counter is a whole number as the loader counts.
func counter(says string, least int) part {
	return part{"type": "integer", "minimum": least, "maximum": 1<<31 - 1, "description": says}
}

func shaped(says, pattern string) part {
	return part{"type": "string", "description": says, "pattern": pattern}
}

func expressionPart(says string) part {
	return part{"type": "string", "description": says + " A regular expression in Go's syntax."}
}

// word is one of several words. The first is the default unless says names another.
func word(says string, words ...string) part {
	return part{"type": "string", "description": says, "enum": words}
}

func listOf(says string, item part) part {
	return part{"type": "array", "description": says, "items": item}
}

// with is p with the members of more, which replace those of p.
func (p part) with(more part) part {
	out := maps.Clone(p)
	maps.Copy(out, more)
	return out
}

// holds adds conditions to p, all of which must hold.
func (p part) holds(conditions ...part) part { return p.with(part{"allOf": conditions}) }

// without refuses members that others exclude.
func without(names ...string) part {
	none := part{}
	for _, name := range names {
		none[name] = false
	}
	return part{"properties": none}
}

// given is a condition: the members are there.
func given(names ...string) part { return part{"required": names} }

// valued is a condition: the member is there and has this value.
func valued(name string, value any) part {
	return part{"required": []string{name}, "properties": part{name: part{"const": value}}}
}

func when(condition, then part) part { return part{"if": condition, "then": then} }

// exactlyOne requires exactly one of the conditions.
func exactlyOne(conditions ...part) part { return part{"oneOf": conditions} }

func agentPart() part {
	return closed("An agent: its model, its tools, and which calls need approval.", part{
		"name":         shaped("The agent's name. Default: the name of the file. a-z, 0-9, - and _, at most 64.", agent.AgentName.String()),
		"description":  textPart("What the agent is for, for people and lists."),
		"tenants":      someNames("The tenants that may use the agent; '*' for all. Default: the tenant that deploys it (--tenant, named default unless set)."),
		"starters":     someNames("The callers who may start runs and send messages: a name as in the journal, such as token:shop, in which * is any text, or role:start. Default: every caller who may start runs."),
		"approvers":    someNames("The callers who may approve calls: a name as in the journal, such as token:anna or link:*, or role:decide. Default: every caller who may decide. Every caller who may decide may deny. A link also counts as the token that created it."),
		"accepts":      acceptsPart(),
		"groups":       groupsPart(),
		"approvals":    approvalsPart(),
		"model":        modelPart(),
		"instructions": textPart("The system prompt."),
		"tools":        listOf("What the model may call.", toolPart()),
		"permissions":  permissionsPart(),
		"executor": word("How the calls of one turn run: one after another (sequential, default; an approved call runs next), or side by side (parallel; an approved call starts within a second). Rules check a call after the earlier calls of its turn have run, which may change what the rules say.",
			"sequential", "parallel"),
		"while_waiting": word("While a call waits: call the model when all calls of its turn have results (wait, default), or with the results so far (continue).",
			"wait", "continue"),
		"yield_when": word("When a run drops its model's answer, so another run gets its worker: never (default), or when a newer run waits (newer_run_waits): one of the same agent and tenant that started later and at least a second ago, is still created, and is among the 20 newest runs of the tenant (one list read per answer, no write). None of the answer's calls runs, its tokens count, the journal has step.reset with the reason yielded, and the model is called again 5 seconds later with the same conversation. A run yields at most three times in a row. If the list can't be read, it continues.",
			form.YieldNever, agent.YieldToNewer),
		"stop":         listOf("Rules that end a run. They are checked in order after each turn of the model, before its calls run. A rule with 0 or an empty text never holds. agents check notes an agent without limits on rounds, tokens and time.", stopPart()),
		"budget":       budgetPart(),
		"deadlines":    deadlinesPart(),
		"finish":       finishPart(),
		"hooks":        namesPart("Names of hooks built into the program, in calling order."),
		"memory":       filled("The name of a memory built into the program. What it recalls is added to requests; at the end it receives the conversation. dormouse has: notes."),
		"effects":      listOf("What follows tool results.", effectPart()),
		"servers":      serversPart(),
		"max_depth":    counter(fmt.Sprintf("How many runs may be above a run that a tool with agent starts: the root, and those between. Default %d. The lowest of all agents above counts. A call beyond it fails with child_unavailable.", core.DefaultDepth), 1).with(part{"maximum": form.MostDepth}),
		"max_children": counter(fmt.Sprintf("How many runs a run may start by tools with agent. Default %d. Further calls fail with child_unavailable.", core.DefaultChildren), 1).with(part{"maximum": form.MostChildren}),
		"notify":       notifyPart(),
		"results":      sizePart("How much of a tool's result is kept and shown to the model: bytes, or with KiB or MiB; from 1KiB to 1MiB, default 256KiB. The rest is cut, with a note."),
	}, "model").holds(needsPrice())
}

func acceptsPart() part {
	return listOf("What the request that starts a run may add, by the names of its members: client_tools, tools that the client runs; context, which the model is shown as the client's words; state, which tools and hooks find under the key dormouse.client. Default: nothing. No request replaces a tool of the agent or changes its rules.",
		part{"type": "string", "enum": supplied.Acceptable}).with(part{"uniqueItems": true, "minItems": 1})
}

func namesPart(says string) part {
	return listOf(says, part{"type": "string", "minLength": 1}).with(part{"uniqueItems": true})
}

func someNames(says string) part { return namesPart(says).with(part{"minItems": 1}) }

func turnsPart() part {
	turn := closed("One answer of the model, and its conditions.", part{
		"given": givenPart(),
		"say":   textPart("The text. ${name} is the match of the group (?P<name>...) of user or result."),
		"calls": listOf("The calls the model makes.", closed("A call.", part{
			"tool":      shaped("The tool to call.", agent.ToolName.String()),
			"arguments": part{"type": "object", "description": "The arguments. ${name} in a text is the match of a group."},
			"id":        textPart("The id of the call, if it matters."),
		}, "tool")),
	}).with(part{"anyOf": []part{given("say"), given("calls")}})
	return listOf("The turns of a scripted model. The first one whose conditions all hold is the answer.", turn).with(part{"minItems": 1})
}

func givenPart() part {
	return closed("The conditions of the turn. Without conditions, the turn always matches.", part{
		"user":      expressionPart("The expression matches the last user message."),
		"tool":      textPart("This tool has a result that the model has not answered yet."),
		"result":    expressionPart("The expression matches a result that the model has not answered yet, as JSON without spaces; the members of recorded results are sorted by name."),
		"no_result": onOff("true: there is no result that the model hasn't answered."),
		"step":      counter("The number of the model's turn since the last user message, from 1.", 1),
	}).with(part{"not": valued("no_result", true).with(part{"anyOf": []part{given("tool"), given("result")}})})
}

func budgetPart() part {
	return closed("The maximum number of tool calls, and what a run may cost. Further calls fail with budget_exhausted. 0 is no limit.", part{
		"step": counter("The maximum for one turn of the model.", 0),
		"run":  counter("The maximum for the run.", 0),
		"cost": costBudgetPart(),
	})
}

func finishPart() part {
	output := part{"type": []string{"object", "boolean"}, "description": "JSON Schema of the output. An output that does not match is an error the model sees."}
	return part{
		"description": "Gives the agent the tool finish, which ends the run with an output. true takes any output. The model can add response_state: done, no_op (nothing to do) or awaiting_input (the user must say more).",
		"anyOf":       []part{{"type": "boolean"}, closed("What the output must be.", part{"output": output})},
	}
}

func effectPart() part {
	return closed("What follows the results of tools. Its output is appended to the call's result for the model.", part{
		"name":      filled("Its name."),
		"tools":     listOf("Names and patterns of tools. The effect runs after their successful calls.", shaped("A tool's name, or a pattern in which * is any text.", agent.ToolGlob.String())).with(part{"minItems": 1, "uniqueItems": true}),
		"go":        textPart("A Go function built into the program."),
		"command":   listOf("A program and its arguments, instead of go. It runs on the server, as its user, only with --allow-commands. It gets no shell, no input, no open files, and only PATH and HOME. A nonzero exit is not a failure; it does nothing if its program, workspace or files don't exist. Output and errors are searched for the server's secrets. A deny of command:PROGRAM in the agent, its deployed version, the policy or the run stops it; the run continues and the journal has the reason.", part{"type": "string"}),
		"detect":    listOf("Kinds of commands to find in the workspace, instead of go and command: format, whose output is dropped, and lint, whose output is shown to the model with its command. The first match of each kind runs: a Makefile with such a target (make -s fmt, make -s format; make -s lint); a package.json with such a script (npm run --silent format; npm run --silent lint); go.mod (gofmt -w .; go vet ./...); Cargo.toml (cargo fmt; cargo clippy --quiet); ruff.toml, .ruff.toml or [tool.ruff] in pyproject.toml (ruff format --quiet .; ruff check --quiet .); [tool.black] in pyproject.toml (black --quiet .). Programs that are not on the machine are skipped. Both commands share the time of one hook, at most 10 seconds; longer ones are stopped and journaled, and the run continues.", part{"type": "string", "enum": []string{agent.DetectFormat, agent.DetectLint}}).with(part{"minItems": 1, "uniqueItems": true}),
		"workspace": textPart("command, detect: the working directory, relative to the agents directory."),
		"paths":     textPart("command: the argument of the call that names files, one or a list, relative to the workspace. They are appended to the command."),
	}, "name", "tools").holds(
		exactlyOne(given("go"), given("command", "workspace"), given("detect", "workspace")),
		when(given("go"), without("command", "detect", "workspace", "paths")),
		when(given("detect"), without("paths")),
	)
}

// durationForm is the form of a duration. The loader checks that it is more than 0.
const durationForm = `^\+?([0-9]{1,5}d|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$`

func durationPart(says string) part { return shaped(says, durationForm) }

// stopPart is a rule in its short form, {max_rounds: 20}, or its long one, {type: max_rounds,
// rounds: 20}.
func stopPart() part {
	short, forms := part{}, []part{}
	for _, name := range slices.Sorted(maps.Keys(form.StopRules)) {
		member, value := form.StopRules[name], stopValues[name]
		forms = append(forms, closed("A rule in its long form.", part{
			"type": part{"const": name, "description": "The rule."}, member: value,
		}, "type", member))
		short[name] = value
	}
	short["timeout"] = durationPart("The run has taken longer than this, without suspensions and model outages; whole seconds, such as 90s or 10m.")
	brief := closed("A rule and its value.", short).with(part{"minProperties": 1, "maxProperties": 1})
	return part{"description": "A rule that ends the run.", "anyOf": append([]part{brief}, forms...)}
}

// stopValues are the values of the stop rules in their long form.
var stopValues = map[string]part{
	"max_rounds":         roundsPart(),
	"timeout":            counter("The run has taken longer than this many seconds, without suspensions and model outages.", 0),
	"token_budget":       counter("The run has used more tokens, input and output. Unreported usage counts as none, so add max_rounds.", 0),
	"max_cost":           dollarsPart("The run has cost this many dollars, from model.price. It may cost more by one step, whose tokens are not known before. If the provider does not say what a step used, the run ends."),
	"consecutive_errors": counter("Every executed tool failed in this many consecutive rounds. Any other round, such as one in which every call was refused, resets the count.", 0),
	"loop_detection":     counter("The model repeats the same calls this many times, 2 to 16. 1 counts as 2.", 0).with(part{"maximum": form.MostWindow}),
	"stop_on_tool":       textPart("The model calls this tool."),
	"content_match":      expressionPart("The expression matches the text of the turn."),
}

func roundsPart() part {
	return part{"description": fmt.Sprintf("The run ends after this many steps. Default %d; unlimited for no limit. Runs of agent versions from before the default have none.", agent.DefaultRounds),
		"anyOf": []part{{"type": "integer", "minimum": 0}, {"const": form.Unlimited}}}
}

func deadlinesPart() part {
	return closed("How long calls may wait, by what they wait for.", part{
		"approval": deadlinePart("How long a call may wait for an approval.", false),
		"client":   deadlinePart("How long a call may wait for the result of a client tool.", true),
		"input":    deadlinePart("How long a call may wait for an answer to its tool's question.", true),
	})
}

// deadlinePart is a duration, or a mapping. results: whether a result can be set in advance.
func deadlinePart(says string, results bool) part {
	outcomes := []string{"fail", "cancel", "result"}
	members := part{
		"within": durationPart("How long, such as 90s, 10m, 24h or 7d."),
		"result": anything("With then: result, the result of the call."),
	}
	if !results {
		outcomes = outcomes[:2]
		delete(members, "result")
	}
	members["then"] = word("How the call is settled: fail (default), cancel, or with result.", outcomes...)
	long := closed("How long a call may wait, and how it is settled.", members, "within")
	if results {
		long = long.holds(when(valued("then", "result"), given("result")), when(given("result"), valued("then", "result")))
	}
	return part{"description": says, "anyOf": []part{durationPart(says), long}}
}
