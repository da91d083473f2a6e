package schema

import (
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// modelPart allows each member for the providers for which the loader accepts it.
func modelPart() part {
	members := part{
		"provider": word("scripted: turns of a script. recorded: recorded conversations. bedrock: Amazon Bedrock. "+
			"openai: any endpoint that speaks OpenAI's chat completions.", form.Providers...),
		"script": textPart("scripted: a file with the turns, relative to this one."),
		"turns":  turnsPart(),
		"pace":   durationPart("scripted: the pause between words, such as 30ms, at most 1s, to test live text. By default there is none."),
		"price":  pricePart(),
		"file":   textPart("recorded: a file with conversations in the OpenAI chat format, one JSON object per line, relative to this file. The first user message selects the conversation, the position the answer. Past the end the run stops with recording_ended; an unknown first message ends it in error."),
	}
	maps.Copy(members, calledParts())
	conditions := []part{
		when(valued("provider", agent.ProviderScripted), exactlyOne(given("script"), given("turns")).with(foreignTo(agent.ProviderScripted))),
		when(valued("provider", agent.ProviderRecorded), given("file").with(foreignTo(agent.ProviderRecorded))),
		when(valued("provider", agent.ProviderBedrock), given("model").with(ofBedrock())),
		when(valued("provider", agent.ProviderOpenAI), given("model", "base_url").with(foreignTo(agent.ProviderOpenAI))),
	}
	return closed("The model.", members, "provider").holds(conditions...)
}

// foreignTo refuses the members that belong to other providers.
func foreignTo(provider string) part {
	var foreign []string
	for _, name := range slices.Sorted(maps.Keys(form.ModelMembers)) {
		if !slices.Contains(form.ModelMembers[name], provider) {
			foreign = append(foreign, name)
		}
	}
	return without(foreign...)
}

func ofBedrock() part {
	p := foreignTo(agent.ProviderBedrock)
	members := p["properties"].(part)
	members["model"] = part{"pattern": form.BedrockID.String()}
	members["temperature"] = part{"maximum": form.Hottest[agent.ProviderBedrock]}
	members["tier"] = part{"enum": form.Tiers}
	return p
}

// calledParts are the members of a model that is called over a network.
func calledParts() part {
	return part{
		"model": filled("The provider's name of the model. bedrock: a model id, an inference profile or an ARN.").with(part{"maxLength": form.LongestID}),
		"base_url": shaped("openai: the endpoint without /chat/completions, as in http://127.0.0.1:11434/v1. With a secret it must be https, except to this machine. Addresses that are not public need --allow-private-hosts.",
			`^[hH][tT][tT][pP][sS]?://[^?#@{}]+$`),
		"api_key":     shaped("openai: the name of a secret, sent as a bearer token. The environment variable DORMOUSE_SECRET_NAME holds it.", placeholder.SecretName.String()),
		"headers":     textsPart("openai: further headers by name. {secret:NAME} is the environment variable DORMOUSE_SECRET_NAME of the server. Literal keys are refused."),
		"region":      shaped("bedrock: the AWS region. Default: the region of the environment.", form.Region.String()),
		"max_tokens":  counter("The maximum number of tokens of an answer.", 1),
		"temperature": amount("Sampling temperature: 0 to 1, openai to 2.").with(part{"minimum": 0, "maximum": form.Hottest[agent.ProviderOpenAI]}),
		"top_p":       amount("Only the likeliest tokens that together have this probability, from 0 to 1.").with(part{"minimum": 0, "maximum": 1}),
		"stop_sequences": listOf("Texts at which the model stops.", part{"type": "string", "minLength": 1}).
			with(part{"uniqueItems": true}),
		"effort": shaped("Reasoning effort: low, medium, high, max or another value of the provider.", form.PlainWord.String()),
		"outage": durationPart("How long a run retries a model that does not answer, from the first consecutive failure, such as 2h. Default 24h. Pauses grow to 15 minutes. Then the run ends in error with model_unavailable."),
		"stream": onOff("false: no live text. Default true."),
		"output": part{"type": "object", "required": []string{"type"}, "properties": part{"type": part{"const": "object"}},
			"description": "JSON Schema of an answer without calls. The model must repeat an answer that does not match."},
		"request": part{"type": "object", "minProperties": 1, "properties": without(form.OursInRequest...)["properties"],
			"description": "Further members of the provider's request, verbatim: bedrock's additionalModelRequestFields, or the openai body."},
		"cache":     word("bedrock: how long instructions, tools and conversation are cached. Default: 1h if the run may be suspended, else 5m.", form.Caches...),
		"guardrail": guardrailPart(),
		"tier":      shaped("The service tier. bedrock: priority, default, flex or reserved; openai: a name of the endpoint.", form.PlainWord.String()),
		"latency":   word("bedrock: standard (default) or optimized.", form.Latencies...),
	}
}

func guardrailPart() part {
	return closed("A Bedrock guardrail.", part{
		"id": shaped("Its id, or its ARN.", form.Guardrail.String()),
		"version": part{"description": "Its version, or DRAFT.",
			"anyOf": []part{{"type": "integer", "minimum": 1, "maximum": 99999999}, {"type": "string", "pattern": form.GuardTurn.String()}}},
		"async": onOff("true: text is shown before the guardrail has checked it."),
	}, "id", "version")
}

func lambdaPart() part {
	return closed("A Lambda function. The arguments are its event, the return value is the result. The call uses the AWS credentials of the server, on AWS those of its role.", part{
		"function":  shaped("Its name, or its ARN without a version.", form.FunctionName.String()+"|"+form.FunctionARN.String()),
		"qualifier": shaped("A version, in quotes, or an alias. Default: the latest version.", form.Qualifier.String()),
		"timeout":   durationPart("How long a call may take. Default 30s, at most 90s."),
		"max_bytes": sizePart("How much of the response is read: bytes, or with KiB or MiB. Default 256KiB, at most 1MiB."),
	}, "function")
}

func mcpPart() part {
	return closed("A tool of an MCP server.", part{
		"server":    filled("The name of the server under servers."),
		"tool":      shaped("The server's name of the tool. Default: the same name.", form.RemoteName.String()),
		"timeout":   durationPart("How long a call may take. Default 30s, at most 90s."),
		"max_bytes": sizePart("How much of the response is read: bytes, or with KiB or MiB. Default 256KiB, at most 1MiB."),
	}, "server")
}

func serversPart() part {
	server := closed("An MCP server that speaks streamable HTTP.", part{
		"url":           shaped("Its address, http or https. With a secret it must be https, except to this machine or a private service.", form.PlainURL),
		"headers":       textsPart("Headers by name. Not Accept, Content-Type or Mcp-*. {secret:NAME} is the environment variable DORMOUSE_SECRET_NAME of the server that runs agents. Literal keys are refused."),
		"allow_private": onOff("true: the address may be private, if the operator allows it too (--allow-private-hosts)."),
	}, "url")
	return part{"type": "object", "description": "MCP servers by the names that tools use.", "additionalProperties": server,
		"propertyNames": part{"pattern": agent.AgentName.String()}}
}

func a2aPart() part {
	return closed("An agent that runs elsewhere and speaks A2A 1.0 over JSON-RPC at the same origin.", part{
		"url":           shaped("Its agent card, if this ends in .json, or the address that has it under /.well-known/agent-card.json; http or https. With a secret it must be https, except to this machine or a private service.", form.PlainURL),
		"headers":       textsPart("Headers by name. Not Accept, Content-Type or A2A-*. {secret:NAME} is the environment variable DORMOUSE_SECRET_NAME of the server that runs agents. Literal keys are refused."),
		"allow_private": onOff("true: the address may be private, if the operator allows it too (--allow-private-hosts)."),
		"timeout":       durationPart("How long one request may take; a task may take as long as the deadline of the tool. Default 30s, at most 90s."),
		"max_bytes":     sizePart("How large an answer may be: bytes, or with KiB or MiB. Default 256KiB, at most 1MiB."),
	}, "url")
}

// sizePart is a size as the loader reads it. The loader checks its bounds.
func sizePart(says string) part {
	return part{"description": says, "anyOf": []part{{"type": "integer", "minimum": 1}, {"type": "string", "pattern": form.Size.String()}}}
}
