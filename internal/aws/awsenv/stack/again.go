package stack

import (
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// The delay of a message that failed starts at 2 s and doubles each time; half of it is jitter.
const (
	shortest = 2 * time.Second
	longest  = 5 * time.Minute
)

// Backoff returns how long a message that failed stays hidden; chance is from 0 to 1.
func Backoff(m events.SQSMessage, chance float64) time.Duration {
	d := min(shortest<<min(Receives(m), 10), longest)
	return d/2 + time.Duration(chance*float64(d/2))
}

// Receives returns how often a message was delivered, including this time.
func Receives(m events.SQSMessage) int {
	n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 1
	}
	return max(1, n)
}
