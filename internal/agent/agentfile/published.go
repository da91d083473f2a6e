package agentfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// part is a JSON Schema, or a piece of one.
type part map[string]any

// The kinds of files there is a schema of; see [Schema].
const (
	SchemaAgent  = "agent"
	SchemaScript = "script"
	SchemaPolicy = "policy"
)

// Schemas are the kinds of files that [Schema] knows.
func Schemas() []string { return []string{SchemaAgent, SchemaPolicy, SchemaScript} }

// Schema is the published JSON Schema of a kind of file, by which an editor completes, explains and
// underlines. It is draft-07: each version of the language server that most editors have for YAML
// reads that, and only those since 2.0 read newer ones. What passes it may still be refused when it
// is read, since a schema cannot look into other files or at the functions of a program; what is
// read passes it. A kind that is not one of [Schemas] is an error.
func Schema(kind string) (json.RawMessage, error) {
	var root part
	switch kind {
	case SchemaAgent:
		root = agentPart().with(part{"definitions": part{"condition": conditionPart()}})
	case SchemaScript:
		root = part{"anyOf": []part{turnsPart(), closed("The answers of a scripted model.", part{"turns": turnsPart()}, "turns")}}
	case SchemaPolicy:
		root = policyPart().with(part{"definitions": part{"condition": conditionPart()}})
	default:
		return nil, fmt.Errorf("there is no schema of %q; it is one of %s", kind, strings.Join(Schemas(), ", "))
	}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Dormouse: " + kind
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("agent: the schema of %s has no JSON form: %w", kind, err)
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

// word is one of several words, the first of which is what counts without it unless says says
// otherwise.
func word(says string, words ...string) part {
	return part{"type": "string", "description": says, "enum": words}
}

func listOf(says string, item part) part {
	return part{"type": "array", "description": says, "items": item}
}

// with is p with more said of it; members of p are replaced.
func (p part) with(more part) part {
	out := maps.Clone(p)
	maps.Copy(out, more)
	return out
}

// holds demands that all conditions hold beside what p says.
func (p part) holds(conditions ...part) part { return p.with(part{"allOf": conditions}) }

// without refuses members, which others exclude.
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

// exactlyOne demands one of the conditions.
func exactlyOne(conditions ...part) part { return part{"oneOf": conditions} }

func agentPart() part {
	return closed("An agent: who answers, what it may call, and which calls need a person.", part{
		"name":         shaped("The agent's name; without it the name of the file. a-z, 0-9, - and _, at most 64.", agent.AgentName.String()),
		"description":  textPart("What the agent is for, for people and lists."),
		"tenants":      someNames("The tenants that may use the agent; '*' for all. Without this, only the tenant that deploys it."),
		"starters":     someNames("The callers who may start runs and send messages: a name as the journal has it, such as token:shop, in which * is any text, or role:start. Without this, every caller who may start runs."),
		"approvers":    someNames("The callers who may approve calls: a name as the journal has it, such as token:anna or link:*, or role:decide. Without this, every caller who may decide."),
		"model":        modelPart(),
		"instructions": textPart("The system prompt."),
		"tools":        listOf("What the model may call.", toolPart()),
		"permissions":  permissionsPart(),
		"executor": word("How the calls of one turn run: one after the other (sequential, also without this), or side by side (parallel).",
			"sequential", "parallel"),
		"while_waiting": word("What the model does while a call waits: nothing (wait, also without this), or go on with the results there are (continue).",
			"wait", "continue"),
		"yield_when": word("When a run gives up an answer of its model, so that another run gets its worker: never (also without this), or when a newer run of the agent waits for a worker (newer_run_waits).",
			yieldNever, agent.YieldToNewer),
		"stop":      listOf("Rules that end a run. They are looked at after each turn of the model, before its calls run.", stopPart()),
		"budget":    budgetPart(),
		"deadlines": deadlinesPart(),
		"finish":    finishPart(),
		"hooks":     namesPart("Names of hooks the program was built with, called in this order."),
		"memory":    filled("The name of a memory the program was built with. This program brings: notes."),
		"effects":   listOf("What follows the result of a tool.", effectPart()),
		"servers":   serversPart(),
		"results":   sizePart("How much of a tool's result is kept and shown to the model: bytes, or with KiB or MiB; 256KiB without this, from 1KiB to 1MiB."),
	}, "model")
}

func namesPart(says string) part {
	return listOf(says, part{"type": "string", "minLength": 1}).with(part{"uniqueItems": true})
}

func someNames(says string) part { return namesPart(says).with(part{"minItems": 1}) }

func turnsPart() part {
	turn := closed("One answer of the model, and what must hold for it.", part{
		"given": givenPart(),
		"say":   textPart("The text. ${name} stands for what the group (?P<name>...) of user or result matched."),
		"calls": listOf("The calls the model makes.", closed("A call.", part{
			"tool":      shaped("The tool to call.", agent.ToolName.String()),
			"arguments": part{"type": "object", "description": "The arguments. ${name} in a text stands for what a group matched."},
			"id":        textPart("The id of the call, if it matters."),
		}, "tool")),
	}).with(part{"anyOf": []part{given("say"), given("calls")}})
	return listOf("The turns of a scripted model. The first one whose conditions all hold is the answer.", turn).with(part{"minItems": 1})
}

func givenPart() part {
	return closed("The conditions of the turn; without them it always fits.", part{
		"user":      expressionPart("It matches the last thing the user said."),
		"tool":      textPart("One of the results the model has not answered yet is of this tool."),
		"result":    expressionPart("It matches such a result, as JSON without spaces."),
		"no_result": onOff("true: there is no such result."),
		"step":      counter("It is the model's so-many-th turn since the user spoke, from 1.", 1),
	}).with(part{"not": valued("no_result", true).with(part{"anyOf": []part{given("tool"), given("result")}})})
}

func budgetPart() part {
	return closed("How many tool calls there may be; a call beyond fails with budget_exhausted. 0 is no limit.", part{
		"step": counter("How many calls one turn of the model may make.", 0),
		"run":  counter("How many calls a run may make.", 0),
	})
}

func finishPart() part {
	output := part{"type": []string{"object", "boolean"}, "description": "JSON Schema of the output; one that does not fit is an error the model sees."}
	return part{
		"description": "Gives the agent the tool finish, which ends the run with an output. true takes any output.",
		"anyOf":       []part{{"type": "boolean"}, closed("What the output must be.", part{"output": output})},
	}
}

func effectPart() part {
	return closed("Something that follows the result of tools.", part{
		"name":      filled("Its name."),
		"tools":     listOf("Names and patterns of the tools it follows.", shaped("A tool's name, or a pattern in which * is any text.", agent.ToolGlob.String())).with(part{"minItems": 1, "uniqueItems": true}),
		"go":        textPart("A Go function the program was built with."),
		"command":   listOf("A program and its arguments, instead of go. It runs if the operator allows commands.", part{"type": "string"}),
		"detect":    listOf("Kinds of commands that are looked for in the workspace, instead of go and command: format, whose output is dropped, and lint, whose output is shown to the model.", part{"type": "string", "enum": []string{agent.DetectFormat, agent.DetectLint}}).with(part{"minItems": 1, "uniqueItems": true}),
		"workspace": textPart("With command or detect: the directory it runs in, relative to the directory of the agents."),
		"paths":     textPart("With command: the argument of the call that names files; they become the last arguments of the command."),
	}, "name", "tools").holds(
		exactlyOne(given("go"), given("command", "workspace"), given("detect", "workspace")),
		when(given("go"), without("command", "detect", "workspace", "paths")),
		when(given("detect"), without("paths")),
	)
}

// durationForm is what a duration looks like; that it is more than nothing is left to the loader.
const durationForm = `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`

func durationPart(says string) part { return shaped(says, durationForm) }

// stopPart is a rule in its short form, {max_rounds: 20}, or its long one, {type: max_rounds,
// rounds: 20}.
func stopPart() part {
	short, forms := part{}, []part{}
	for _, name := range slices.Sorted(maps.Keys(stopRules)) {
		rule := stopRules[name]
		value := stopValues[name]
		forms = append(forms, closed("A rule in its long form.", part{
			"type": part{"const": name, "description": "The rule."}, rule.member: value,
		}, "type", rule.member))
		short[name] = value
	}
	short["timeout"] = durationPart("The run has taken longer than this, without the time it waited; whole seconds, as in 90s or 10m.")
	brief := closed("A rule and its value.", short).with(part{"minProperties": 1, "maxProperties": 1})
	return part{"description": "A rule that ends the run.", "anyOf": append([]part{brief}, forms...)}
}

// stopValues are the values of the stop rules in their long form.
var stopValues = map[string]part{
	"max_rounds":         roundsPart(),
	"timeout":            counter("The run has taken longer than so many seconds, without the time it waited.", 0),
	"token_budget":       counter("The run has used more tokens, in and out.", 0),
	"consecutive_errors": counter("In so many rounds in a row every tool failed.", 0),
	"loop_detection":     counter("The model makes the same calls so many times in a row; 16 is the most.", 0).with(part{"maximum": mostWindow}),
	"stop_on_tool":       textPart("The model calls this tool."),
	"content_match":      expressionPart("It matches the turn's text."),
}

func roundsPart() part {
	return part{"description": fmt.Sprintf("The run ends after so many steps. Without this rule after %d; unlimited lifts that.", agent.DefaultRounds),
		"anyOf": []part{{"type": "integer", "minimum": 0}, {"const": unlimited}}}
}

func deadlinesPart() part {
	return closed("How long calls may wait, by what they wait for.", part{
		"approval": deadlinePart("How long a call may wait for an approval.", false),
		"client":   deadlinePart("How long a call may wait for the result of a client tool.", true),
		"input":    deadlinePart("How long a call may wait for something its tool asked for.", true),
	})
}

// deadlinePart is a duration, or a mapping. results: whether a result can be set in advance.
func deadlinePart(says string, results bool) part {
	outcomes := []string{"fail", "cancel", "result"}
	members := part{
		"within": durationPart("How long, as in 90s, 10m or 24h."),
		"result": anything("With then: result, the result of the call."),
	}
	if !results {
		outcomes = outcomes[:2]
		delete(members, "result")
	}
	members["then"] = word("What the call comes to: fail (also without this), cancel, or a result that is given here.", outcomes...)
	long := closed("How long a call may wait, and what it comes to.", members, "within")
	if results {
		long = long.holds(when(valued("then", "result"), given("result")), when(given("result"), valued("then", "result")))
	}
	return part{"description": says, "anyOf": []part{durationPart(says), long}}
}
