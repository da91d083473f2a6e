//go:build !linux

package sleepers

import "errors"

func evict(string) error {
	return errors.New("dropping a file from the system's cache needs Linux: measure without --cold")
}
