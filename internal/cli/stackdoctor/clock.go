package stackdoctor

import "time"

// How far the clock of this machine may be off. AWS refuses signatures that are five minutes off.
const (
	skewWarned = 5 * time.Second
	skewFailed = time.Minute
)

// Clock compares the clock of this machine with that of AWS.
type Clock interface {
	// Skew is how far this machine is ahead of the first answer of AWS; false before there is
	// one.
	Skew() (time.Duration, bool)
}

func checkClock(c Clock) []Finding {
	r := results{check: "clock"}
	skew, known := c.Skew()
	if !known {
		r.found = append(r.found, Finding{r.check, Unchecked, "AWS sent no time", "run the command again"})
		return r.found
	}
	const do = "set the clock, for example by NTP; AWS refuses signatures that are five minutes off"
	side, off := "ahead of", skew
	if skew < 0 {
		side, off = "behind", -skew
	}
	// the header Date has whole seconds
	words := off.Round(time.Second).String() + " " + side + " AWS"
	switch {
	case off >= skewFailed:
		r.fail(do, "the clock of this machine is %s", words)
	case off >= skewWarned:
		r.warn(do, "the clock of this machine is %s", words)
	default:
		r.ok("the clock of this machine is within 5s of AWS")
	}
	return r.found
}
