package bounds

import "time"

// Limits bound what this process does for callers at once. A zero member means its default.
type Limits struct {
	// for how long answers on pages can be taken back. 0: they are final
	Hold time.Duration

	Streams       int // open streams of all tenants; 2,000
	TenantStreams int // open streams of one tenant; 500: each open page of the console has one
	Held          int // reads that are held for all tenants; 2,000
	TenantHeld    int // reads that are held for one tenant; 500
	// between the comments that keep a silent stream open; 15 seconds
	KeepAlive  time.Duration
	StreamLife time.Duration // after which a stream ends, to be opened again; 15 minutes
	WriteTime  time.Duration // for a reader to take what is sent; 10 seconds
	LinkLife   time.Duration // how long an approval's link is good for; 7 days

	// StartsPerSecond is how many runs, messages, retries and interrupts one tenant may send,
	// over time; at once, what that is in ten seconds. 0 is no limit.
	StartsPerSecond float64

	// Rates are more of what one tenant may do, by kind, and Buckets is where it is counted;
	// this process's memory
	Rates   Rates
	Buckets Buckets

	// Tickets is where it is kept which tickets have opened a stream; this process's memory
	Tickets Tickets
}

// OrDefaults sets the members that are zero.
func (l Limits) OrDefaults(now func() time.Time) Limits {
	set(&l.Streams, 2000)
	set(&l.TenantStreams, 500)
	set(&l.Held, 2000)
	set(&l.TenantHeld, 500)
	set(&l.KeepAlive, 15*time.Second)
	set(&l.StreamLife, 15*time.Minute)
	set(&l.WriteTime, 10*time.Second)
	set(&l.LinkLife, 7*24*time.Hour)
	if l.Tickets == nil {
		l.Tickets = NewTickets(now)
	}
	if l.Buckets == nil {
		l.Buckets = NewMemory()
	}
	return l
}

func set[T comparable](member *T, usual T) {
	var zero T
	if *member == zero {
		*member = usual
	}
}
