package measure

import "time"

// Prices are AWS's list prices in us-east-1 in November 2026, in dollars: of a million requests or
// units, and of a GB of memory for a second (arm64).
type Prices struct {
	WriteUnits  float64 `json:"write_units"`
	ReadUnits   float64 `json:"read_units"`
	Queue       float64 `json:"queue_requests"`
	Invocations float64 `json:"invocations"`
	HTTP        float64 `json:"http_requests"`
	Memory      float64 `json:"gb_second"`
}

var listPrices = Prices{WriteUnits: 0.625, ReadUnits: 0.125, Queue: 0.40, Invocations: 0.20, HTTP: 1.00, Memory: 0.0000133334}

// Lambda is how the step function is billed.
type Lambda struct {
	MemoryMB int           `json:"memory_mb"`
	Model    time.Duration `json:"model_ns"` // until a model answers
}

// of returns the price of one run. A step waits once for the model. The functions that answer
// callers are so short that only their requests are counted.
func (p Prices) of(run Costs, steps int, l Lambda) float64 {
	million := p.WriteUnits*run[WriteUnits] + p.ReadUnits*run[ReadUnits] + p.Queue*run[QueueRequests] +
		p.Invocations*(run[Invocations]+run[HTTPRequests]) + p.HTTP*run[HTTPRequests]
	seconds := run[LambdaTime]/1000 + l.Model.Seconds()*float64(steps)
	return million/1e6 + p.Memory*seconds*float64(l.MemoryMB)/1024
}
