package plans

// Limits bound what a run may cost when something is wrong.
type Limits struct {
	// claims without a commit after which a body is taken to be what kills the process
	BodyTries  int
	Claims     int // claims without a commit after which the run ends
	ModelTries int // answers in a row that were no turn after which the run ends
	Calls      int // calls in one round

	// Outage is how many ms a run waits for a model that does not answer, from the first
	// failure in a row on, where its definition does not say. Then the run ends.
	Outage int64
}

// DefaultLimits are the limits of a run unless the engine is configured with others.
var DefaultLimits = Limits{BodyTries: 3, Claims: 8, ModelTries: 5, Calls: 64, Outage: 24 * 60 * 60_000}
