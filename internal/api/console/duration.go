package console

import (
	"strconv"
	"time"
)

// ago is an age: a page doesn't count it up, so it has no fractions.
func ago(d time.Duration) string { return inWords(max(d.Truncate(time.Second), time.Second)) }

// inWords is a duration as people say it: its largest unit, or two below two of them.
func inWords(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
	}
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "hours"}} {
		if d >= 2*unit.of {
			return strconv.Itoa(int(d/unit.of)) + " " + say("unit."+unit.name)
		}
	}
	return strconv.Itoa(int(d/time.Minute)) + " " + say("unit.minutes")
}
