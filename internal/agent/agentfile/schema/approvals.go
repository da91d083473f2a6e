package schema

import (
	"maps"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// named is a mapping whose names have the form of groups and policies.
func named(says string, value part) part {
	return part{"type": "object", "description": says, "propertyNames": part{"pattern": agent.GroupName.String()}, "additionalProperties": value}
}

func groupsPart() part {
	caller := textPart("token:NAME, link:ADDRESS, hook:NAME/WHO, intake, role:ROLE, or claim:NAME=VALUE of a token that an identity provider signed. * is any text in a name.")
	person := closed("A person who comes in several ways and counts once.", part{
		"person": shaped("A short name.", agent.GroupName.String()),
		"is":     someNames("The person's callers, written out."),
	}, "person", "is")
	return named("Groups of people who decide, for approvals. A link counts only for a recipient who is written out.",
		listOf("The members.", part{"description": "A member.", "anyOf": []part{caller, person}}).with(part{"minItems": 1}))
}

func approvalsPart() part {
	stage := part{
		"group": shaped("The group that decides.", agent.GroupName.String()),
		"need":  counter("How many different people must approve. Default 1.", 1).with(part{"maximum": vote.MostApprovers}),
		"deny":  word("What denies: the first denial (first, default), or as many as make need impossible (majority).", "first", "majority"),
	}
	maps.Copy(stage, stageTimes())
	one := closed("A policy with one stage.", policyTimes(stage), "group")
	several := closed("A policy with several stages, asked in this order. Each stage needs other people.", policyTimes(part{
		"stages": listOf("The stages.", closed("A stage.", stage, "group")).with(part{"minItems": 1, "maxItems": vote.MostStages}),
	}), "stages")
	return named("Policies on who decides about a call. Rules name them; the one named default is for all other calls that wait for an approver. They take the place of approvers. An edit starts the vote again, with the new arguments. The editor's approval counts if several are needed.",
		part{"description": "A policy.", "anyOf": []part{one, several}})
}

// stageTimes are what a stage does while it waits.
func stageTimes() part {
	reminders := closed("The first reminder, and those that follow.", part{
		"after": durationPart("When the first one comes, counted from the question."),
		"every": durationPart("The time between two. By default there is one reminder."),
		"most":  counter("How many there are at most. Default 8, with every.", 1).with(part{"maximum": vote.MostReminders}),
	}, "after").with(part{"dependencies": part{"most": []string{"every"}}})
	return part{
		"remind": part{"description": "Reminds those who are notified with on: [reminded]. After an outage they get one notice for all reminders that were due.",
			"anyOf": []part{durationPart("When to remind once, such as 4h."), reminders}},
		"escalate": closed("Asks another group if the stage still waits.", part{
			"after":   durationPart("When, counted from the question of the stage, such as 16h or 1d."),
			"to":      shaped("The other group.", agent.GroupName.String()),
			"replace": onOff("The other group decides in place of the first, and what was said before does not count. Default false: its members may decide, too."),
		}, "after", "to"),
	}
}

// policyTimes adds what a whole policy says of times to its members.
func policyTimes(members part) part {
	timeOfDay := `^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$`
	return members.with(part{
		"deadline": part{"description": "How long the question may wait, of all stages together. It goes before deadlines.approval.",
			"anyOf": []part{durationPart("A duration, such as 48h. Then the call is denied."), closed("A deadline, and what follows.", part{
				"within": durationPart("How long, such as 48h."),
				"then":   word("deny (default), or approve: no answer is a yes. Only for a policy that one person decides.", "deny", "approve"),
			}, "within")}},
		"hours": closed("When people work. The times of the policy pass only then.", part{
			"days": listOf("The days.", word("A day.", form.Days...)).with(part{"minItems": 1}),
			"from": shaped("When work begins, such as \"09:00\".", timeOfDay),
			"to":   shaped("When work ends, at least 15 minutes later on the same day.", timeOfDay),
			"zone": filled("The time zone, such as Europe/Berlin, or UTC."),
		}, "days", "from", "to", "zone"),
	})
}
