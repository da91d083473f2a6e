//go:build !unix

package recording

import "os"

func lock(*os.File) error { return nil }
