package notice

import "slices"

// Subscription is the kinds of notices that one endpoint receives.
type Subscription struct {
	Endpoint string
	On       Set
}

// All returns each kind of notice that at least one subscription lists.
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
