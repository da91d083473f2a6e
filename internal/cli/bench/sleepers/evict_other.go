//go:build !linux

package sleepers

import (
	"errors"
	"os"
)

func evict(*os.File) error {
	return errors.New("dropping a file from the system's cache needs Linux: measure without --cold")
}
