package schema

import (
	"github.com/dormouse-dev/dormouse/internal/agent"
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
	one := closed("A policy with one stage.", stage, "group")
	several := closed("A policy with several stages, asked in this order. Each stage needs other people.", part{
		"stages": listOf("The stages.", closed("A stage.", stage, "group")).with(part{"minItems": 1, "maxItems": vote.MostStages}),
	}, "stages")
	return named("Policies on who decides about a call. Rules name them; the one named default is for all other calls that wait for an approver. They take the place of approvers. An edit starts the vote again, with the new arguments. The editor's approval counts if several are needed.",
		part{"description": "A policy.", "anyOf": []part{one, several}})
}
