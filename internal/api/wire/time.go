package wire

import "time"

// Millis makes a [Time] of milliseconds since the Unix epoch.
func Millis(ms int64) Time { return Time{Time: time.UnixMilli(ms).UTC()} }
