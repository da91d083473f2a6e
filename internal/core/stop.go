package core

// Progress is what stop rules look at: the run after a model's answer, before any of the calls it
// asks for runs.
type Progress struct {
	Steps  int   // completed model calls, this one included
	Tokens int64 // of the whole run, in and out
	Cost   USD   // of the whole run
	Priced bool  // Cost is known
	Awake  int64 // ms since the run began, without the time it was suspended
	Errors int   // rounds in a row in which every tool that was executed failed
	Turn   Turn
	// if Cost is not known, the agent whose model made it so; empty if that is not known either
	UnpricedAgent string
	// what the rounds before asked for, oldest first, as stoprule.Signature says it
	Rounds []string
}

// StopRule ends a run. Stop must be pure. Code and detail become those of the run's reason.
type StopRule interface {
	Stop(Progress) (code, detail string, stop bool)
}

// MostRounds bounds how many signatures of rounds a head keeps.
const MostRounds = 16
