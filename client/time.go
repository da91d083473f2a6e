package client

import (
	"time"
)

// Time is a time as the API writes it: RFC 3339 in UTC, with milliseconds.
type Time struct{ time.Time }

// TimeFormat is the layout of a [Time].
const TimeFormat = "2006-01-02T15:04:05.000Z" // in UTC

// MarshalText implements [encoding.TextMarshaler].
func (t Time) MarshalText() ([]byte, error) { return []byte(t.UTC().Format(TimeFormat)), nil }

// MarshalJSON implements [json.Marshaler].
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(TimeFormat) + `"`), nil
}
