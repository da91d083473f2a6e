package core

// Checkpoint names what a commit made durable.
type Checkpoint string

const (
	// the input of a run, or a later message
	CheckpointUserMessage   Checkpoint = "user_message"
	CheckpointAssistantTurn Checkpoint = "assistant_turn" // a model's answer
	// decisions, and the calls that go on with them
	CheckpointDecisionReplay Checkpoint = "decision_replay"
	CheckpointToolResults    Checkpoint = "tool_results" // outcomes of calls
	// the end of a turn: the run waits, or is done
	CheckpointRunFinished Checkpoint = "run_finished"
)

// Checkpoints are all checkpoints, in the order in which a run meets them.
var Checkpoints = []Checkpoint{CheckpointUserMessage, CheckpointAssistantTurn, CheckpointDecisionReplay, CheckpointToolResults, CheckpointRunFinished}

// checkpointOf is what an event makes durable, for those that do.
var checkpointOf = map[EventType]Checkpoint{
	EventRunStarted: CheckpointUserMessage, EventMessageReceived: CheckpointUserMessage,
	EventStepStarted:      CheckpointAssistantTurn,
	EventDecisionRecorded: CheckpointDecisionReplay,
	EventCallSucceeded:    CheckpointToolResults, EventCallFailed: CheckpointToolResults, EventCallCancelled: CheckpointToolResults,
	EventCallSuspended: CheckpointToolResults,
	EventTurnEnded:     CheckpointRunFinished,
}

// Checkpoints are those that the segment's commit is, in their order: one commit may be several.
// Commits that only record an intent or give a claim up are none.
func (s Segment) Checkpoints() (all []Checkpoint) {
	met := map[Checkpoint]bool{}
	for _, e := range s.Events {
		met[checkpointOf[e.Type]] = true
	}
	for _, c := range Checkpoints {
		if met[c] {
			all = append(all, c)
		}
	}
	return all
}
