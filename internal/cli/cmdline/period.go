package cmdline

import (
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Period holds the flags --created-after and --created-before, as they were given.
type Period struct{ after, before string }

// Add adds the flags. what names the filtered items, such as "runs created".
func (p *Period) Add(flags *pflag.FlagSet, what string) {
	flags.StringVar(&p.after, "created-after", "", "only "+what+" at or after this `TIME` (RFC 3339)")
	flags.StringVar(&p.before, "created-before", "", "only "+what+" before this `TIME` (RFC 3339)")
}

// Read parses the flags. A value that is not a time is a usage error.
func (p *Period) Read() (after, before time.Time, err error) {
	if after, err = readTime("--created-after", p.after); err != nil {
		return after, before, err
	}
	before, err = readTime("--created-before", p.before)
	return after, before, err
}

func readTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	if err != nil {
		return at, Usagef("%s takes a time in RFC 3339, such as 2026-03-01T09:30:00Z, not %q", flag, text)
	}
	return at, nil
}

// PeriodFlags are the flags that select a period again.
func PeriodFlags(after, before time.Time) []FlagValue {
	return []FlagValue{{Name: "created-after", Value: timeText(after)}, {Name: "created-before", Value: timeText(before)}}
}

// timeText is a time as a flag takes it; empty for none.
func timeText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}
