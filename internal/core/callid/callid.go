// Package callid gives every call of a thread an id that no other has.
package callid

import (
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Used are the ids that the calls of a thread have. Before says which were used before; nil:
// none. Others are taken one by one.
type Used struct {
	Before func(id string) bool
	taken  map[string]bool
}

// Unique returns id, or, if it is used, id with the next free suffix _2, _3, ..., and takes what it
// returns. Models repeat ids; inside a thread every call has its own. An id is a key of the head
// and goes back to the model with its result: what is longer than any model's is cut, and what is
// no UTF-8 replaced.
func (u *Used) Unique(id string) string {
	if id = core.ClipBytes(strings.ToValidUTF8(id, "\ufffd"), longest); id == "" {
		id = "call"
	}
	unique := id
	for n := 2; u.has(unique); n++ {
		unique = id + "_" + strconv.Itoa(n)
	}
	u.Take(unique)
	return unique
}

// Take marks an id as used.
func (u *Used) Take(id string) {
	if u.taken == nil {
		u.taken = map[string]bool{}
	}
	u.taken[id] = true
}

func (u *Used) has(id string) bool { return u.taken[id] || u.Before != nil && u.Before(id) }

// longest leaves room for a suffix in the 64 bytes that the strictest of the providers takes.
const longest = 60
