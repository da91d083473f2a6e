//go:build !unix

package measure

import "time"

// processor is not known on this system.
func processor() (d time.Duration, known bool) { return 0, false }
