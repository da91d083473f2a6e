package schema

import "github.com/dormouse-dev/dormouse/internal/core/notice"

func notifyPart() part {
	signed := part{"if": part{"allOf": []part{given("url"), {"anyOf": []part{{"not": given("format")}, valued("format", notice.FormatStandard)}}}},
		"then": given("secret")}
	target := closed("Where notices go, and which.", part{
		"name": shaped("The target's name, unique in the list: a-z, 0-9, - and _, at most 32. It is shown with deliveries.", notice.TargetName),
		"on": listOf("What is reported. suspended: a call waits for an answer. decided: it no longer waits. "+
			"done: the run ended, for any reason. failed: the run ended in error, or was stopped or blocked.", part{"type": "string", "enum": notice.Kinds}).
			with(part{"minItems": 1, "uniqueItems": true}),
		"url": shaped("The address that gets a POST request for each notice: https, or http with allow_private. {secret:NAME} in its path or query is the value of a secret.", `^[hH][tT][tT][pP][sS]?://[^#]+$`),
		"mail": listOf("Mail addresses, instead of url.", part{"type": "string", "pattern": notice.MailAddress}).
			with(part{"minItems": 1, "maxItems": notice.MostAddresses, "uniqueItems": true}),
		"require": word("code: a link in the mail asks for a one-time code, which is sent to the same address. The target then has one address.", notice.RequireCode),
		"slack": closed("A channel to which a Slack app posts, instead of url. It asks with buttons, and shows the decision in their place.", part{
			"channel": shaped("The id of the channel, as in C0ABCDEF1. The app must be in the channel.", notice.ChannelForm),
			"token":   shaped("The name of the secret that holds the app's bot token (xoxb-).", notice.SecretName),
		}, "channel", "token"),
		"format": word("standard: the notice as JSON, signed as in Standard Webhooks (default). slack: a message for an incoming webhook of Slack. teams: an adaptive card for a workflow of Microsoft Teams. template: your own JSON.",
			words(notice.Formats)...),
		"template":      anything("format template: the JSON that is sent. In its texts, {approval.tool} is a member of the notice, {secret:NAME} a secret, and {{ a brace. A text that is one placeholder keeps the type of the value."),
		"secret":        shaped("The name of the secret that signs the request; required by format standard. The environment variable DORMOUSE_SECRET_NAME holds it: whsec_ and a key in Base64, or two of them, separated by a space, while the key is rotated.", notice.SecretName),
		"allow_private": onOff("true: the address may be private, if the operator allows it too (--allow-private-hosts)."),
	}, "name", "on").holds(
		exactlyOne(given("url"), given("mail"), given("slack")),
		when(given("mail"), without("format", "template", "secret")),
		when(given("require"), given("mail")),
		when(given("require"), part{"properties": part{"mail": part{"maxItems": 1}}}),
		when(given("slack"), without("format", "template", "secret")),
		when(given("slack"), part{"properties": part{"allow_private": part{"const": false}}}),
		when(given("mail"), part{"properties": part{"allow_private": part{"const": false}}}),
		when(given("template"), valued("format", notice.FormatTemplate)),
		when(valued("format", notice.FormatTemplate), given("template")),
		signed,
	)
	return listOf("Who is notified of the agent's runs. Notices are delivered at least once, and retried for 24 hours. A run keeps the targets of the version it started with.", target).
		with(part{"minItems": 1, "maxItems": notice.MostAgentTargets})
}

func words[T ~string](of []T) (texts []string) {
	for _, word := range of {
		texts = append(texts, string(word))
	}
	return texts
}
