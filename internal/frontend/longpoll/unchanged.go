package longpoll

import "sync"

// mostPlaces is how many places are known to be unchanged.
const mostPlaces = 1024

// Unchanged knows where a look found nothing, and what the store's stamp was before it: while that
// is the store's stamp, another look there finds nothing either. The zero value knows nothing.
type Unchanged struct {
	mu     sync.Mutex
	stamps map[any]string
	order  []any // of stamps, the oldest first
}

// Since says whether a look at the place found nothing while the stamp was this one.
func (u *Unchanged) Since(place any, stamp string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return stamp != "" && u.stamps[place] == stamp
}

// Note learns that a look at the place found nothing. The stamp is from before it; an empty one is
// not noted.
func (u *Unchanged) Note(place any, stamp string) {
	if stamp == "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stamps == nil {
		u.stamps = map[any]string{}
	}
	if _, there := u.stamps[place]; !there {
		if u.order = append(u.order, place); len(u.order) > mostPlaces {
			delete(u.stamps, u.order[0])
			u.order = u.order[1:]
		}
	}
	u.stamps[place] = stamp
}
