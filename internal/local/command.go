package local

import (
	"cmp"
	"strings"
)

// command is a command of this program for a person to copy, such as "dormouse doctor --data
// .dormouse".
func (o Options) command(words ...string) string {
	return cmp.Or(o.Command, "dormouse") + " " + strings.Join(words, " ")
}
