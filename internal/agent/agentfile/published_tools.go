package agentfile

import (
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// toolBodies are who may run a tool; exactly one is given.
var toolBodies = []part{given("go"), given("http"), given("lambda"), given("mcp"), valued("client", true), given("recorded")}

func toolPart() part {
	return closed("A tool. Exactly one of go, http, lambda, mcp, client: true and recorded says who runs it.", part{
		"name":        shaped("The tool's name: letters, digits, - and _, at most 64.", agent.ToolName.String()).with(part{"not": part{"const": core.FinishTool}}),
		"description": textPart("What the tool does, for the model."),
		"go":          textPart("A Go function the program was built with. Its parameters come from the function."),
		"client":      onOff("true: whoever calls the API runs the tool and sends the result."),
		"http":        httpPart(),
		"lambda":      lambdaPart(),
		"mcp":         mcpPart(),
		"result":      resultPart(),
		"recorded":    listOf("Answers instead of a body. The first whose when holds is the result.", answerPart()).with(part{"minItems": 1}),
		"parameters":  parametersPart(),
		"delivery": word("What happens after a crash. at_least_once: the tool may run again, with the same idempotency key. "+
			"at_most_once: it never does, and a person is asked what happened.", core.AtLeastOnce.String(), core.AtMostOnce.String()),
		"idempotent": onOff("true: the tool may run again even though a person approved it."),
		"read_only":  onOff("true: the tool changes nothing in the world."),
		"preview":    previewPart(),
		"deadline":   deadlinePart("How long a call of this tool may wait, whatever for; wins over the agent's deadlines.", true),
	}, "name").holds(
		exactlyOne(toolBodies...),
		when(given("go"), without("parameters")),
		when(given("http"), given("parameters")),
		when(given("lambda"), given("parameters")),
		when(given("mcp"), given("parameters")),
		when(given("result"), valued("client", true)),
		when(valued("client", true), part{"properties": part{"delivery": false, "idempotent": part{"const": false}}}),
		when(valued("idempotent", true), part{"properties": part{"delivery": part{"const": core.AtLeastOnce.String()}}}),
	)
}

// parametersPart names what most schemas say, and leaves the rest of JSON Schema open.
func parametersPart() part {
	return part{
		"description": "JSON Schema of the arguments. A call that does not fit is an error the model sees, and nobody is asked about it.",
		"type":        "object", "required": []string{"type"},
		"properties": part{
			"type":                 part{"const": "object", "description": "Arguments are an object."},
			"properties":           part{"type": "object", "description": "The arguments by name, each with its schema."},
			"required":             part{"type": "array", "items": part{"type": "string"}, "description": "The arguments that must be there."},
			"additionalProperties": part{"type": []string{"boolean", "object"}, "description": "false: no others. true, or a schema of their values: others may be there. Without it http, lambda and mcp tools take no others."},
		},
	}
}

func answerPart() part {
	return closed("A recorded answer.", part{
		"when":   part{"type": "object", "description": "Arguments and their values, a.b for a member inside one; without it, any."},
		"result": anything("The result, any value."),
		"error":  filled("The tool fails with this text."),
	}).holds(exactlyOne(given("result"), given("error")))
}

func previewPart() part {
	return part{
		"description": "What an approver is shown of what a call would do: a text in which {name} stands for an argument, or what a tool that only reads finds before the approver is asked.",
		"anyOf": []part{
			{"type": "string", "pattern": `\S`},
			closed("What a tool that only reads finds. It is called before the approver is asked, and again after a crash.", part{
				"tool":      filled("The tool: one of this agent that is read_only or a GET, and that no rule asks about."),
				"arguments": textsPart("Its arguments by name. {name} stands for an argument of the call that waits; one that is missing is left out."),
			}, "tool"),
		},
	}
}

func resultPart() part {
	return part{"type": []string{"object", "boolean"}, "description": "Of a client tool: JSON Schema of what the client answers."}
}

func httpPart() part {
	return closed("A request that the server sends. {name} stands for the argument of that name.", part{
		"method":  word("GET (also without this), HEAD, POST, PUT, PATCH or DELETE.", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
		"url":     shaped("The address, http or https. {name} stands for an argument in the path or a query value, never in the host.", `^https?://`),
		"query":   textsPart("Query values by name, put behind the url. One whose argument is missing is left out."),
		"headers": textsPart("Headers by name. {secret:NAME} stands for the environment variable DORMOUSE_SECRET_NAME of the server."),
		"body": part{
			"description": "json: the arguments that are used nowhere else, as an object (also without this, with POST, PUT and PATCH). " +
				"form: the same as a form. none. Or the body itself, with {name} in its texts.",
			"anyOf": []part{{"enum": []string{"json", "form", "none"}}, {"type": []string{"object", "array"}}},
		},
		"timeout":       durationPart("How long the call may take, retries included; 10s without this, and 90s at most."),
		"max_bytes":     sizePart("How much of the answer is read: bytes, or with KiB or MiB; 64KiB without this, and 1MiB at most."),
		"retries":       counter("How often it is tried again; 2 without this. What was sent is repeated only if the call may be.", 0).with(part{"maximum": 10}),
		"allow_private": onOff("true: the address may be a private one, if the server was started with leave for it."),
	}, "url")
}

func textsPart(says string) part {
	return part{"type": "object", "description": says, "additionalProperties": part{"type": "string"}}
}
