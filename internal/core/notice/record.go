package notice

// Record is what became of a notice: delivered, or dead. It is written before the entry is removed
// from its line, so that a notice is always in one of the two; after a crash it may be in both, and
// is attempted again under the same id.
type Record struct {
	Key
	Event    int64     `json:"-"`
	Kind     Kind      `json:"k"`
	Seq      int64     `json:"s"` // the segment that holds the event
	State    State     `json:"st"`
	Since    int64     `json:"t"`  // when it was handed over, or redriven
	At       int64     `json:"at"` // when it was delivered or given up
	Tries    int       `json:"n"`
	Attempts []Attempt `json:"a,omitempty"` // the newest [MostAttempts]
}

// Unread is what is shown of a delivered notice whose record cannot be read: when it ended, and why
// no more is known.
func Unread(k Key, event, at int64) Record {
	return Record{Key: k, Event: event, State: StateDelivered, Since: at, At: at, Attempts: []Attempt{{At: at, Error: "the record of this notice can't be read"}}}
}

// Record returns the record of an entry that is delivered or dead.
func (e Entry) Record(k Key, event int64, s State, at int64) Record {
	return Record{Key: k, Event: event, Kind: e.Kind, Seq: e.Seq, State: s, Since: e.Since, At: at, Tries: e.Tries, Attempts: e.Attempts}
}

// Kept is how long, in ms, a store keeps the record of a delivered notice. Dead ones are kept until
// an operator redrives or forgets them.
const Kept = 30 * 24 * 60 * 60_000
