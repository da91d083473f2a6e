package scaffold

import (
	"regexp"
	"strings"
)

// Naming returns what commands for the agents of dir need, quoted for a shell: an argument
// for agents check and agents test, and an option for dev. Both are empty for the usual directory,
// and begin with a blank for others.
func Naming(dir string) (argument, option string) {
	if dir == Usual {
		return "", ""
	}
	if strings.HasPrefix(dir, "-") {
		dir = "./" + dir // it would be read as a flag
	}
	return " " + ShellWord(dir), " --agents " + ShellWord(dir)
}

// bare matches an argument that needs no quotes in a shell.
var bare = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$`)

// ShellWord is text as one word of a command for a POSIX shell, in quotes where it needs them.
func ShellWord(text string) string {
	if bare.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
