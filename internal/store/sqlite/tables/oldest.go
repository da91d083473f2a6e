package tables

import (
	"fmt"
	"strconv"
	"strings"
)

// The keys of the two lists of what waits begin with a time, in milliseconds of 13 digits. The time
// alone is stored, as a number: the rest of a key follows from its head, and heads of the same time
// are in the order of their rowids. A key of another form is stored as it is, and listed after
// all others. 0 is a head that isn't listed.

// noLimit is added to the times of runs without a deadline, which are listed after all others.
const noLimit = 10_000_000_000_000

// Oldest is the column oldest of a head: what is stored of [core.Waits.Oldest].
func Oldest(key, run string) any {
	at, rest := timeOf(key)
	switch {
	case key == "":
		return 0
	case at > 0 && rest == run:
		return at
	}
	return key
}

// oldestKey reverses [Oldest].
func oldestKey(stored any, run string) (key string, err error) {
	switch stored := stored.(type) {
	case string:
		return stored, nil
	case int64:
		if stored == 0 {
			return "", nil
		}
		return fmt.Sprintf("%013d#%s", stored, run), nil
	}
	return "", fmt.Errorf("a key of the list of approvals is %v", stored)
}

// Since is the place in the list of approvals of a key that an earlier program gave out.
func Since(key string) any {
	if at, _ := timeOf(key); at > 0 {
		return at
	}
	return key
}

// Urgent is the column urgent of a head: what is stored of a key of waits.Urgency.
func Urgent(key string) any {
	if key == "" {
		return 0
	}
	if at, _ := timeOf(key); at > 0 {
		return at
	}
	if waiting, ok := strings.CutPrefix(key, "~#"); ok {
		if at, _ := timeOf(waiting); at > 0 {
			return noLimit + at
		}
	}
	return key
}

// timeOf is the time that a key begins with, and what follows; 0 if it doesn't begin with a time.
func timeOf(key string) (at int64, rest string) {
	const digits = 13
	if len(key) <= digits || key[digits] != '#' {
		return 0, ""
	}
	n, err := strconv.ParseUint(key[:digits], 10, 63)
	if err != nil {
		return 0, ""
	}
	return int64(n), key[digits+1:]
}
