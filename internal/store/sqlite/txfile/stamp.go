package txfile

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// settled is how long after a change a file's time tells it from another change for certain.
const settled = time.Second

// Stamp equals an earlier one if no process has committed in between. It is empty where that isn't
// certain: soon after a change, and on systems that note changes late. It asks for the sizes and
// times of the files, and reads neither.
func (f *File) Stamp(now time.Time) string {
	if runtime.GOOS == "windows" {
		return ""
	}
	stamp := ""
	for _, path := range []string{f.path, f.path + "-wal"} {
		info, err := os.Stat(path)
		if err != nil || now.Sub(info.ModTime()) < settled {
			return ""
		}
		stamp += fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano(), " ")
	}
	return stamp
}
