package notice

import "slices"

// Subscription says what one endpoint is notified of.
type Subscription struct {
	Endpoint string
	On       Set
}

// All returns what anyone is notified of.
func All(subscriptions []Subscription) (all Set) {
	for _, s := range subscriptions {
		for _, kind := range s.On {
			if !slices.Contains(all, kind) {
				all = append(all, kind)
			}
		}
	}
	return all
}
