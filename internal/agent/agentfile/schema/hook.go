package schema

import (
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

const (
	pathPattern   = `^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`
	secretPattern = `^[A-Z][A-Z0-9_]*$`
)

// hookPart is a hook file, which package hookfile reads.
func hookPart() part {
	tests := conditionPart()
	members := tests["properties"].(part).with(part{"path": shaped("The path of the value that is tested.", pathPattern)})
	delete(members, "argument")
	test := tests.with(part{"description": "A condition: a path and one test. Bounds can be combined.", "properties": members, "required": []string{"path"}})
	decision := part{"description": "What the hook decides: resume (approve) or cancel (deny).", "anyOf": []part{word("The same for every delivery.", "resume", "cancel"),
		closed("Where the body says which.", part{
			"path":   pathPart("The path of the word for the action."),
			"values": part{"type": "object", "description": "What each word means: resume or cancel. A delivery with another word is refused.", "minProperties": 1, "additionalProperties": part{"enum": []string{"resume", "cancel"}}},
		}, "path", "values")}}
	pending := word("What to do if the run waits: refuse the delivery (default), abandon what it waits for, or queue the input until the run ends.", "refuse", "abandon", "queue")
	return closed("How an incoming webhook is verified, and what it does: exactly one of start, message, decision and slack_app.", part{
		"tenant": textPart("The tenant whose runs the hook reaches. Default: the tenant that deploys it."),
		"verify": verifyPart(),
		"when": part{"description": "Conditions on the body, which must all hold; other deliveries are ignored. Or comparisons in one text, as in 'action == \"opened\" && issue.number > 0'.",
			"anyOf": []part{filled("Comparisons joined by ' && '."), test, listOf("Conditions that must all hold.", test).with(part{"minItems": 1})}},
		"by": pathPart("The path of who acted at the sender. The hook acts as hook:NAME/WHO, otherwise as hook:NAME."),
		"id": closed("Where the sender names the event. A delivery with the same name is a repeat. Default: the signed id (standard), the member id (stripe), otherwise the body.", part{
			"path":   pathPart("A path in the body."),
			"header": filled("A header. No signature covers it, so anyone with a signed delivery can have it act again."),
		}).holds(exactlyOne(given("path"), given("header"))),
		"agents": listOf("message, decision, slack_app: the agents whose runs the hook may reach. Default: all agents of the tenant.", shaped("An agent's name.", agent.AgentName.String())).with(part{"minItems": 1}),
		"start": closed("Starts a run.", part{
			"agent":      shaped("The agent.", agent.AgentName.String()),
			"input":      fillPart("The input."),
			"thread_key": fillPart("The key of the conversation to continue. Default: a new conversation for each event."),
			"metadata":   part{"type": "object", "description": "The run's metadata, each member a template. A template that is one placeholder keeps the value's type.", "additionalProperties": filled("A template.")},
			"on_pending": pending,
		}, "agent", "input"),
		"message": closed("Sends a message to a conversation.", part{
			"thread": fillPart("The conversation's id."), "thread_key": fillPart("The conversation's key."), "text": fillPart("The message."), "on_pending": pending,
		}, "text").holds(exactlyOne(given("thread"), given("thread_key"))),
		"decision": closed("Answers a suspended call.", part{
			"target": fillPart("The id of the suspension."), "action": decision, "reason": fillPart("The reason. It is omitted if the body lacks a value of it."),
			"shown":     fillPart("The fingerprint of the question that was shown. If the question has changed, the decision is refused."),
			"arguments": pathPart("The path of edited arguments, an object."), "result": pathPart("The path of the call's result."),
		}, "target", "action"),
		"slack_app": closed("The hook is the interactivity URL of a Slack app, whose buttons decide.", part{
			"token": shaped("The name of the secret with the bot token.", secretPattern),
			"team":  shaped("The id of the workspace, as in T0123ABCD. Members of no other may decide.", notice.TeamForm),
		}, "token", "team"),
	}, "verify").holds(exactlyOne(given("start"), given("message"), given("decision"), given("slack_app")), when(given("start"), without("agents")),
		when(given("slack_app"), part{"properties": part{"when": false, "by": false, "id": false, "verify": valued("scheme", "slack")}}))
}

func pathPart(says string) part { return shaped(says, pathPattern) }

// fillPart is a template over the body.
func fillPart(says string) part {
	return filled(says + " {path} is a value of the body, {{ and }} are braces.")
}

func verifyPart() part {
	return closed("How deliveries are signed.", part{
		"scheme":     word("Standard Webhooks, or the scheme of Slack, GitHub, Stripe or Discord.", "standard", "slack", "github", "stripe", "discord"),
		"secret":     shaped("The name of the signing secret. Its value is one key, or, while keys are changed, two of at least 16 characters with a space between.", secretPattern),
		"public_key": shaped("discord: the application's public key, 64 hexadecimal digits.", `^[0-9a-fA-F]{64}$`),
	}, "scheme").holds(part{"if": valued("scheme", "discord"), "then": given("public_key").with(without("secret")), "else": given("secret").with(without("public_key"))})
}
