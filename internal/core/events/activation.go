package events

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Activation outcomes, as they are journaled.
const (
	ActivationStepDone    = "step_done"
	ActivationApproval    = "suspended_approval"
	ActivationInput       = "suspended_input"
	ActivationClientTool  = "suspended_client_tool"
	ActivationChildren    = "suspended_awaiting_children"
	ActivationPartial     = "suspended_step_partial"
	ActivationInterrupted = "interrupted"
	ActivationRemote      = "waiting_for_remote"
	ActivationDone        = "done"
)

// ActivationOutcomes are all outcomes of an activation.
var ActivationOutcomes = []string{ActivationStepDone, ActivationPartial, ActivationApproval, ActivationInput, ActivationClientTool, ActivationChildren, ActivationInterrupted, ActivationRemote, ActivationDone}

// ActivationOfWaits is how an activation ended that leaves these calls waiting: of several kinds of
// wait, the one that needs a person most counts.
func ActivationOfWaits(pending []PendingCall) string {
	heaviest := 0
	for _, call := range pending {
		heaviest = max(heaviest, slices.Index(waitsInOrder, waitOutcome(call.Kind)))
	}
	return waitsInOrder[heaviest]
}

var waitsInOrder = []string{ActivationChildren, ActivationClientTool, ActivationInput, ActivationApproval, ActivationInterrupted}

func waitOutcome(k core.Kind) string {
	switch k {
	case core.KindClient:
		return ActivationClientTool
	case core.KindInput:
		return ActivationInput
	case core.KindChild:
		return ActivationChildren
	case core.KindInterrupt:
		return ActivationInterrupted
	}
	return ActivationApproval
}
