//go:build linux

package faults

import (
	"slices"
	"testing"
)

// A process that is killed leaves calls without a result: a flush among them has not ended, and a
// write may have been done.
func TestCallsOfAKilledProcess(t *testing.T) {
	for name, tc := range map[string]struct {
		trace []string
		want  []kind
	}{
		"a whole flush":                      {[]string{`7 fsync(4</d/dormouse.db>) = 0`}, []kind{flushing, flushed}},
		"a flush that fails":                 {[]string{`7 fsync(4</d/dormouse.db>) = -1 EIO (Input/output error) (INJECTED)`}, []kind{flushing, flushFailed}},
		"a flush in two lines":               {[]string{`7 fsync(4</d/dormouse.db> <unfinished ...>`, `7 <... fsync resumed>) = 0`}, []kind{flushing, flushed}},
		"a flush cut off":                    {[]string{`7 fsync(4</d/dormouse.db>) = ?`}, []kind{flushing}},
		"a flush cut off in two lines":       {[]string{`7 fsync(4</d/dormouse.db> <unfinished ...>`, `7 <... fsync resumed>) = ?`}, []kind{flushing}},
		"a write cut off":                    {[]string{`7 pwrite64(4</d/dormouse.db>, "ab\0", 3, 4096) = ?`}, []kind{written}},
		"a call that was not seen to begin":  {[]string{`7 <... ??? resumed>)                = ?`}, nil},
		"a thread that ends in no call":      {[]string{`7 ???( <unfinished ...>`, `7 <... ??? resumed>) = ?`, `7 +++ killed by SIGKILL +++`}, nil},
		"a kill between two calls of others": {[]string{`7 fsync(4</d/a> <unfinished ...>`, `8 <... ??? resumed>) = ?`, `7 <... fsync resumed>) = 0`}, []kind{flushing, flushed}},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader{began: map[string]unfinished{}}
			var events []event
			var err error
			for _, line := range tc.trace {
				if events, err = r.read(line, events); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			}
			var got []kind
			for _, e := range events {
				got = append(got, e.kind)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got the events %v, want %v", got, tc.want)
			}
		})
	}
	r := reader{began: map[string]unfinished{}}
	if _, err := r.read(`7 <... fsync resumed>) = 0`, nil); err == nil {
		t.Error("the end of a flush that did not begin is taken")
	}
}
