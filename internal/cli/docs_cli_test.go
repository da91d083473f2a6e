package cli_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const cliPage = "../../docs/reference/cli.md"

const cliIntro = "# Command line\n\nRun `dormouse help COMMAND` for details and examples. <!-- Generated from the help texts -->\n" +
	"\nAll commands accept these flags: "

// TestTheCLIPageHasEveryCommand writes docs/reference/cli.md with -update. Otherwise it reports a
// page that differs from the help texts.
func TestTheCLIPageHasEveryCommand(t *testing.T) {
	dormouse := helpOf(func(args ...string) string { return here(t, "", args...).stdout })
	proof := helpOf(func(args ...string) string { return proves(t, args...).stdout })
	want := cliIntro + strings.Join(flagsIn(section(dormouse("help"), "Flags:")), ", ") + ".\n" +
		program("dormouse", dormouse) + program("dormouse-proof", proof)
	if *update {
		if err := os.WriteFile(cliPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(cliPage); err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): go test ./internal/cli -run TheCLIPage -update", cliPage, err)
	}
	if strings.Count(want, "\n|`") < 25 {
		t.Errorf("commands are missing:\n%s", want)
	}
}

// helpOf is a program's help, by its arguments.
type helpOf func(args ...string) string

// program is the part of the page about one program.
func program(name string, help helpOf) string {
	page := fmt.Sprintf("\n## %s\n\n|command|purpose|flags|\n|---|---|---|\n", name)
	var long []command // those with a long list of flags
	for _, c := range commandsOf(help, nil) {
		c.usage = strings.TrimPrefix(c.usage, name+" ")
		page += fmt.Sprintf("|`%s`|%s|%s|\n", strings.ReplaceAll(c.usage, "|", `\|`), c.short, c.flagsAfter(long))
		if len(c.flags) > 10 {
			long = append(long, c)
		}
	}
	return page + "\n|exit code|meaning|\n|---|---|\n" + exitCodeRows(help)
}

// exitCodeRows are the exit codes of a program as rows of a table.
func exitCodeRows(help helpOf) (rows string) {
	for _, m := range exitCode.FindAllStringSubmatch(section(help("help", "exit-codes"), "Exit codes:")+"\n", -1) {
		rows += fmt.Sprintf("|%s|%s|\n", m[1], strings.ReplaceAll(strings.TrimSpace(m[2]), "\n     - ", "<br>"))
	}
	return rows
}

// exitCodeNumbers are the codes alone.
func exitCodeNumbers(help helpOf) (codes []string) {
	for _, m := range exitCode.FindAllStringSubmatch(section(help("help", "exit-codes"), "Exit codes:")+"\n", -1) {
		codes = append(codes, m[1])
	}
	return codes
}

// command is a row of the page.
type command struct {
	usage, short string
	flags        []string
}

// flagsAfter lists the flags of a command, or names the one above it that has the same, or one
// more.
func (c command) flagsAfter(long []command) string {
	for _, other := range long {
		missing := slices.DeleteFunc(slices.Clone(other.flags), func(f string) bool { return slices.Contains(c.flags, f) })
		switch {
		case len(c.flags)+len(missing) != len(other.flags) || len(missing) > 1:
		case len(missing) == 1:
			return fmt.Sprintf("same as `%s`, except %s", other.usage, missing[0])
		default:
			return "as `" + other.usage + "`"
		}
	}
	return strings.Join(c.flags, ", ")
}

var (
	listed    = regexp.MustCompile(`(?m)^\S.* Commands:\n((?:  \S+ {2,}.+\n)+)`)
	oneListed = regexp.MustCompile(`(?m)^  (\S+) {2,}(.+)$`)
	exitCode  = regexp.MustCompile(`(?m)^  (\d)  (.+\n(?:     - .+\n)*)`)
	usageLine = regexp.MustCompile(`(?m)^Usage:\n  (.+?)(?: \[flags\])?$`)
	flagLine  = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`)
)

// commandsOf are the commands below a command, each followed by its own. A command that only groups
// others is left out.
func commandsOf(help helpOf, above []string) (all []command) {
	var lists string
	for _, m := range listed.FindAllStringSubmatch(help(append([]string{"help"}, above...)...), -1) {
		lists += m[1]
	}
	for _, m := range oneListed.FindAllStringSubmatch(lists, -1) {
		name := append(slices.Clone(above), m[1])
		text := help(append([]string{"help"}, name...)...)
		usage := usageLine.FindStringSubmatch(text)
		if usage == nil || m[1] == "help" || m[1] == "version" {
			continue
		}
		below := commandsOf(help, name)
		if flags := flagsIn(section(text, "\nFlags:")); len(below) == 0 || len(flags) > 0 {
			all = append(all, command{usage[1], m[2], flags})
		}
		all = append(all, below...)
	}
	return all
}

// section is the part of a help text between a headline and the next empty line.
func section(text, headline string) string {
	_, rest, _ := strings.Cut(text, headline+"\n")
	part, _, _ := strings.Cut(rest, "\n\n")
	return part
}

// flagsIn are the names of flags, without --help, which every command has.
func flagsIn(part string) (names []string) {
	for _, m := range flagLine.FindAllStringSubmatch(part, -1) {
		if m[1] != "--help" {
			names = append(names, "`"+m[1]+"`")
		}
	}
	return names
}
