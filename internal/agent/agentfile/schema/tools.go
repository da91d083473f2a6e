package schema

import (
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// toolBodies are the implementations of a tool; exactly one is given.
var toolBodies = []part{given("go"), given("http"), given("lambda"), given("mcp"), given("agent"), given("a2a"), valued("client", true), given("recorded")}

// callees are those of them that are agents.
var callees = []part{given("agent"), given("a2a")}

func toolPart() part {
	return closed("A tool. Exactly one of go, http, lambda, mcp, agent, a2a, client: true and recorded implements it.", part{
		"name":        shaped("The tool's name: letters, digits, - and _, at most 64.", agent.ToolName.String()).with(part{"not": part{"const": core.FinishTool}}),
		"description": textPart("What the tool does, for the model."),
		"go":          textPart("A Go function built into the program. It defines the parameters."),
		"client":      onOff("true: the API caller runs the tool and sends the result. GET /v1/agents/NAME shows both schemas."),
		"http":        httpPart(),
		"lambda":      lambdaPart(),
		"mcp":         mcpPart(),
		"agent":       shaped("Another agent that the tenants of this one may use, or this agent. Each call starts a run of it and waits for its end. Its permissions are those of its agent, narrowed by what narrows this run.", agent.AgentName.String()),
		"a2a":         a2aPart(),
		"input":       shaped("agent, a2a: the first message that the agent gets. {name} is an argument and {a.b} a nested one: text as it is, anything else as JSON. Default: the arguments as JSON. Without parameters, each {name} is a required text.", `\S`),
		"result":      resultPart(),
		"recorded":    listOf("Recorded answers. The first one whose when holds counts.", answerPart()).with(part{"minItems": 1}),
		"parameters":  parametersPart(),
		"delivery": word("After a crash. at_least_once: the tool may run again, with the same idempotency key. "+
			"at_most_once: it never does; a person is asked for the outcome. a2a: a task that may have arrived is sent again, or not (the call fails). Not with agent or client.", core.AtLeastOnce.String(), core.AtMostOnce.String()),
		"idempotent": onOff("true: the tool may run again even if it was approved. Otherwise approved calls run at most once. Not with agent or client."),
		"read_only":  onOff("true: the tool changes nothing. A Go function can declare it itself."),
		"title":      shaped("The question that approvers read first, such as \"Refund {amount} {currency} for {order}?\": one line of at most 120 characters, in which {name} is an argument (not a nested one). Each value is set off from the words. If one is missing, longer than 40 characters, not text, a number or a boolean, or may mislead, the question has the tool's name instead.", `\S`),
		"preview":    previewPart(),
		"deadline":   deadlinePart("How long a call of this tool may wait; overrides the agent's deadlines. Unknown outcomes wait for a person without limit. If a policy asks for an approval, then: result becomes fail. An answer stored before the deadline is applied counts, even if slightly late.", true),
	}, "name").holds(
		exactlyOne(toolBodies...),
		when(given("go"), without("parameters")),
		when(given("http"), given("parameters")),
		when(given("lambda"), given("parameters")),
		when(given("mcp"), given("parameters")),
		when(given("agent"), without("delivery", "idempotent").with(part{"anyOf": []part{given("input"), given("parameters")}})),
		when(given("a2a"), part{"anyOf": []part{given("input"), given("parameters")}}),
		when(given("input"), part{"anyOf": callees}),
		when(given("result"), part{"anyOf": []part{
			{"required": []string{"client"}, "properties": part{"client": part{"const": true}, "result": part{"type": []string{"object", "boolean"}}}},
			{"anyOf": callees, "properties": part{"result": part{"type": "string"}}},
		}}),
		when(valued("client", true), part{"properties": part{"delivery": false, "idempotent": part{"const": false}}}),
		when(valued("idempotent", true), part{"properties": part{"delivery": part{"const": core.AtLeastOnce.String()}}}),
	)
}

// parametersPart names the usual members of a schema and accepts any others.
func parametersPart() part {
	return part{
		"description": "JSON Schema of the arguments. A call that does not match fails with an error that the model sees; no approver is asked.",
		"type":        "object", "required": []string{"type"},
		"properties": part{
			"type":                 part{"const": "object", "description": "Arguments are an object."},
			"properties":           part{"type": "object", "description": "The arguments by name, each with its schema."},
			"required":             part{"type": "array", "items": part{"type": "string"}, "description": "The required arguments."},
			"additionalProperties": part{"type": []string{"boolean", "object"}, "description": "false: no other arguments. true, or a schema of their values: others are accepted. By default http, lambda, mcp, agent and a2a tools accept no others."},
		},
	}
}

func answerPart() part {
	return closed("A recorded answer.", part{
		"when":   part{"type": "object", "description": "Arguments and their values; a.b for nested ones. By default any arguments match."},
		"result": anything("The result, any value."),
		"error":  filled("The tool fails with this text."),
	}).holds(exactlyOne(given("result"), given("error")))
}

func previewPart() part {
	return part{
		"description": "What approvers see of the effect of a call: a text in which {name} is an argument and {a.b} a nested one, or the result of a read-only tool. If the tool fails, takes longer than 10 seconds or a rule refuses the call, or if hooks decide before each tool, the approver sees why there is no preview and can still decide. The previews of one turn share an eighth of the step's time. A preview shows the arguments of the model; editing them makes no new preview.",
		"anyOf": []part{
			{"type": "string", "pattern": `\S`},
			closed("The result of a read-only tool, up to 4 KB. The server calls it before it asks, perhaps again after a crash, and stores the result with the question: every reader sees the same.", part{
				"tool":      filled("The tool: one of this agent that is read_only (as GET is), and that is neither refused, asked about, run by the caller nor another agent."),
				"arguments": textsPart("Its arguments by name. {name} is an argument of the suspended call. A value that is only a placeholder keeps its type, and is omitted if the argument is missing."),
			}, "tool"),
		},
	}
}

func resultPart() part {
	return part{
		"description": "client: JSON Schema of the result. A result that does not match is refused and the call still waits. By default any value is accepted. " +
			"agent, a2a: output (default), what the agent finishes with (a2a: data as JSON) or else its last text; or final, its last text.",
		"anyOf": []part{{"type": []string{"object", "boolean"}}, {"enum": []string{form.ResultOutput, form.ResultFinal}}},
	}
}

func httpPart() part {
	return closed("A request that the server sends. {name} is the argument of that name; {{ and }} are braces. Numbers keep every digit. An argument without a place in the request is an error the model sees; the bodies json and form take every argument. A status of 200 to 299 is a success; the result is the text, JSON without whitespace. Other statuses are failures the model sees. Content that is not UTF-8 or ISO 8859-1 text is named, not shown. GET and HEAD follow up to five redirects, never from https to http; other hosts do not get the headers of the file. For other methods a redirect is a failure.", part{
		"method":  word("Default GET. GET and HEAD are read_only and idempotent unless the tool says otherwise.", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
		"url":     shaped("The address, http or https. {name} is an argument in the path or in a query value, never in the host. A path argument must be required and is escaped; the call fails unsent if one is empty, only dots, or contains a slash, a backslash, an escape such as %2f or a control character.", `^https?://`),
		"query":   textsPart("Query values by name. One whose argument is missing or null is omitted. A list that is the whole value repeats the parameter."),
		"headers": textsPart("Headers by name. An argument in a header is one line of ASCII; if it is missing or null, the header is omitted. Not Host, Idempotency-Key or headers of the connection. " + secretText),
		"body": part{
			"description": "json: the arguments that are not used elsewhere, as an object (default for POST, PUT and PATCH). " +
				"form: the same as a form. none. Or a mapping or list with placeholders: a value that is only \"{name}\" becomes the argument, of any type, and is omitted if it is missing.",
			"anyOf": []part{{"enum": []string{"json", "form", "none"}}, {"type": []string{"object", "array"}}},
		},
		"timeout":       durationPart("How long a call may take with its retries. Default 10s, at most 90s."),
		"max_bytes":     sizePart("How much of the response is read: bytes, or with KiB or MiB. Default 64KiB, at most 1MiB. The rest is cut, with a note."),
		"retries":       counter("How many times a request is repeated. Default 2. A request that could not be sent is always repeated. A request that was sent is repeated only if the tool may run again, after 429, 502, 503, 504, 520, 522, 524 and broken connections, with growing pauses or the Retry-After of the service if the timeout allows. Requests other than GET and HEAD have an Idempotency-Key, the same for every attempt of an execution, also after a crash; if a person decides that the call did not happen, the next execution has a new one. For requests that must not be repeated, 502, 504, 520, 522, 524 and statuses below 200 count as no response. Only 400 to 499 proves that a call did not happen, and only if no earlier attempt was left without a response. After other failures, 503 included, the model is warned that the call may have taken effect.", 0).with(part{"maximum": 10}),
		"allow_private": onOff("true: the address may be private, if the operator allows it too (--allow-private-hosts). Otherwise only public addresses are reached, checked after DNS and for each redirect: not this machine, private, link-local, carrier-grade, multicast or cloud metadata addresses, or IPv4 inside IPv6. A host name that the operator allows opens private networks and this machine; link-local and other special addresses need an entry of their kind, metadata addresses (169.254.169.254, fd00:ec2::254, 168.63.129.16) the exact address. Proxy environment variables are ignored."),
	}, "url")
}

func textsPart(says string) part {
	return part{"type": "object", "description": says, "additionalProperties": part{"type": "string"}}
}

// secretText says how secrets are used in headers and query values.
const secretText = "{secret:NAME} is the environment variable DORMOUSE_SECRET_NAME of the server. Secrets need https or allow_private; http sends them only to an address that the operator allows. " +
	"Without the secret the agent is not served; if it disappears later, calls fail. Literal keys are refused if the header, the parameter or their format shows what they are. " +
	"In responses the value is replaced by its name: as it is, escaped (URL, JSON, HTML, most languages) and in Base64; with 8 or more letters and digits also in other case, in hexadecimal, backwards, " +
	"or with up to 16 bytes between its characters. Encrypted, compressed or split values are not found."
