package agentfile

import (
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// modelPart holds each member to the providers that the loader takes it of.
func modelPart() part {
	members := part{
		"provider": word("scripted: turns that are written down. recorded: conversations that were kept. bedrock: Amazon Bedrock. "+
			"openai: any endpoint that speaks OpenAI's chat completions.", providers...),
		"script": textPart("Of a scripted model: a file with its turns, relative to this one."),
		"turns":  turnsPart(),
		"pace":   durationPart("Of a scripted model: the pause between words, for readers who look on, as 30ms; without it an answer comes at once."),
		"file":   textPart("Of a recorded model: conversations, one JSON object a line, in the OpenAI chat format, relative to this file."),
	}
	maps.Copy(members, calledParts())
	conditions := []part{
		when(valued("provider", agent.ProviderScripted), exactlyOne(given("script"), given("turns")).with(foreignTo(agent.ProviderScripted))),
		when(valued("provider", agent.ProviderRecorded), given("file").with(foreignTo(agent.ProviderRecorded))),
		when(valued("provider", agent.ProviderBedrock), given("model").with(ofBedrock())),
		when(valued("provider", agent.ProviderOpenAI), given("model", "base_url").with(foreignTo(agent.ProviderOpenAI))),
	}
	return closed("Who answers.", members, "provider").holds(conditions...)
}

// foreignTo refuses the members that belong to other providers.
func foreignTo(provider string) part {
	var foreign []string
	for _, name := range slices.Sorted(maps.Keys(modelMembers)) {
		if !slices.Contains(modelMembers[name], provider) {
			foreign = append(foreign, name)
		}
	}
	return without(foreign...)
}

func ofBedrock() part {
	p := foreignTo(agent.ProviderBedrock)
	members := p["properties"].(part)
	members["model"] = part{"pattern": bedrockID.String()}
	members["temperature"] = part{"maximum": hottest[agent.ProviderBedrock]}
	members["tier"] = part{"enum": tiers}
	return p
}

// calledParts are what can be said of a model that is asked over a network.
func calledParts() part {
	return part{
		"model": filled("What the provider calls the model: of bedrock an id, an inference profile or an ARN.").with(part{"maxLength": longestID}),
		"base_url": shaped("Of openai: where the endpoint is, up to where /chat/completions is put behind, as in http://127.0.0.1:11434/v1.",
			`^[hH][tT][tT][pP][sS]?://[^?#@{}]+$`),
		"api_key":     shaped("Of openai: the name of a secret, sent as a bearer token. DORMOUSE_SECRET_ and the name is the environment variable that holds it.", agent.SecretName.String()),
		"headers":     textsPart("Of openai: further headers by name. {secret:NAME} stands for the environment variable DORMOUSE_SECRET_NAME of the server."),
		"region":      shaped("Of bedrock: the AWS region that is asked, instead of the program's own.", regionForm.String()),
		"max_tokens":  counter("How many tokens an answer may have.", 1),
		"temperature": amount("How much chance there is in the answers, from 0; of bedrock to 1, of openai to 2.").with(part{"minimum": 0, "maximum": hottest[agent.ProviderOpenAI]}),
		"top_p":       amount("Only the likeliest tokens that together have this probability, from 0 to 1.").with(part{"minimum": 0, "maximum": 1}),
		"stop_sequences": listOf("Texts at which the model stops.", part{"type": "string", "minLength": 1}).
			with(part{"uniqueItems": true}),
		"effort": shaped("How much the model thinks: low, medium, high, max or what else the provider knows.", plainWord.String()),
		"outage": durationPart("How long a run waits for a model that does not answer, from the first failure on, as in 2h; 24h without this. Then it ends in error."),
		"stream": onOff("false: the answer is fetched in one piece, and nobody can read along. Without this it is streamed."),
		"output": part{"type": "object", "required": []string{"type"}, "properties": part{"type": part{"const": "object"}},
			"description": "JSON Schema of what the model says when it calls nothing. An answer that does not fit is asked for again."},
		"request": part{"type": "object", "minProperties": 1, "properties": without(oursInRequest...)["properties"],
			"description": "Further members of the provider's request, as they stand: of bedrock in additionalModelRequestFields, of openai in the body."},
		"cache":     word("Of bedrock: off, or how long what the requests have in common is cached; without this, chosen by whether the run may wait.", caches...),
		"guardrail": guardrailPart(),
		"tier":      shaped("The service tier: of bedrock priority, default, flex or reserved; of openai as the endpoint calls it.", plainWord.String()),
		"latency":   word("Of bedrock: standard (also without this) or optimized.", latencies...),
	}
}

func guardrailPart() part {
	return closed("A guardrail of Bedrock's.", part{
		"id": shaped("Its id, or its ARN.", guardForm.String()),
		"version": part{"description": "Its version, or DRAFT.",
			"anyOf": []part{{"type": "integer", "minimum": 1, "maximum": 99999999}, {"type": "string", "pattern": guardTurn.String()}}},
		"async": onOff("true: text is shown while it is streamed, before the guardrail looked at it."),
	}, "id", "version")
}

func lambdaPart() part {
	return closed("A Lambda function. It is invoked with the arguments as its event, and waited for.", part{
		"function":  shaped("Its name, or its ARN.", functionName.String()+"|"+functionARN.String()),
		"qualifier": shaped("A version, in quotes, or an alias; the latest one without this.", qualifier.String()),
		"timeout":   durationPart("How long the call may take; 30s without this, and 90s at most."),
		"max_bytes": sizePart("How much of the answer is read: bytes, or with KiB or MiB; 256KiB without this, and 1MiB at most."),
	}, "function")
}

func mcpPart() part {
	return closed("A tool of an MCP server.", part{
		"server":    filled("The name of the server under servers."),
		"tool":      shaped("What the server calls the tool; the same as here without this.", remoteName.String()),
		"timeout":   durationPart("How long the call may take; 30s without this, and 90s at most."),
		"max_bytes": sizePart("How much of the answer is read: bytes, or with KiB or MiB; 256KiB without this, and 1MiB at most."),
	}, "server")
}

func serversPart() part {
	server := closed("An MCP server that speaks streamable HTTP.", part{
		"url":           shaped("Its address, http or https.", `^[hH][tT][tT][pP][sS]?://[^#@{}]+$`),
		"headers":       textsPart("Headers by name. {secret:NAME} stands for the environment variable DORMOUSE_SECRET_NAME of the server that runs agents."),
		"allow_private": onOff("true: the address may be a private one, if the operator allows it."),
	}, "url")
	return part{"type": "object", "description": "MCP servers by the names that tools know them by.", "additionalProperties": server,
		"propertyNames": part{"pattern": agent.AgentName.String()}}
}

// sizePart is a size as the loader reads it; its bounds are left to that.
func sizePart(says string) part {
	return part{"description": says, "anyOf": []part{{"type": "integer", "minimum": 1}, {"type": "string", "pattern": sizeForm.String()}}}
}
