// Package queuetest has the conformance suite for every queue behind the engine. Only tests import
// it.
package queuetest

import "fmt"

// tenant is whose wake-ups the suite sends where it needs no other.
const tenant = "acme"

func numbered(prefix string, i int) string { return fmt.Sprintf("%s%03d", prefix, i) }
