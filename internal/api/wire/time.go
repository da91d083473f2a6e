package wire

import (
	"time"
)

// Time is a moment in RFC 3339, UTC, with milliseconds.
type Time struct{ time.Time }

// TimeFormat is how every time is written.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Millis makes a Time of milliseconds since the Unix epoch.
func Millis(ms int64) Time { return Time{time.UnixMilli(ms).UTC()} }

func (t Time) MarshalText() ([]byte, error) { return []byte(t.UTC().Format(TimeFormat)), nil }

func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(TimeFormat) + `"`), nil
}
