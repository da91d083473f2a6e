package cmdline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// meantBy maps words that people try first to the commands that do what they mean. The library
// suggests by spelling alone: for deny it suggests dev.
var meantBy = []struct {
	words    []string
	commands []string
}{
	{[]string{"approve", "accept", "allow", "yes"}, []string{"decide RUN --approve"}},
	{[]string{"deny", "reject", "refuse", "no"}, []string{"decide RUN --deny"}},
	{[]string{"answer"}, []string{"approvals", "decide RUN"}},
	{[]string{"inbox", "pending", "waiting"}, []string{"approvals -i"}},
	{[]string{"start", "exec"}, []string{"run AGENT INPUT", "dev"}},
	{[]string{"server", "up", "daemon"}, []string{"dev", "serve"}},
	{[]string{"log", "logs", "events", "tail", "follow", "attach"}, []string{"watch RUN"}},
	{[]string{"cancel", "abort", "kill"}, []string{"runs cancel RUN"}},
	{[]string{"stop"}, []string{"runs cancel RUN", "interrupt RUN"}},
	{[]string{"pause", "suspend"}, []string{"interrupt RUN"}},
	{[]string{"continue", "unpause"}, []string{"resume RUN"}},
	{[]string{"status", "show", "get", "describe", "list", "ls", "ps"}, []string{"runs"}},
	{[]string{"send", "say", "chat", "message", "thread", "threads", "history"}, []string{"messages THREAD"}},
	{[]string{"init", "create", "scaffold"}, []string{"new NAME"}},
	{[]string{"check", "validate", "lint"}, []string{"agents check"}},
	{[]string{"test", "tests"}, []string{"agents test"}},
	{[]string{"diff", "plan"}, []string{"agents diff"}},
	{[]string{"queue", "import", "load", "batch", "submit"}, []string{"enqueue FILE"}},
	{[]string{"login", "auth", "token"}, []string{"tokens add NAME"}},
}

// elsewhere are commands of the program that tests Dormouse itself.
var elsewhere = map[string]string{"replay": "dormouse-proof replay FILE.jsonl", "torture": "dormouse-proof torture"}

// meant are the commands that an unknown word may mean; none if it has no known meaning.
func meant(word string) (commands []string) {
	if command, is := elsewhere[word]; is {
		return []string{command}
	}
	for _, m := range meantBy {
		if slices.Contains(m.words, strings.ToLower(word)) {
			for _, command := range m.commands {
				commands = append(commands, product+" "+command)
			}
		}
	}
	return commands
}

var unknownCommand = regexp.MustCompile(`^unknown command ("(?:[^"\\]|\\.)*") for "([^"]*)"`)

// unknownWord is the word that the library did not find among the commands; "" for other errors.
func unknownWord(program, err string) string {
	found := unknownCommand.FindStringSubmatch(err)
	if found == nil || found[2] != program {
		return ""
	}
	word, _ := strconv.Unquote(found[1]) // "" means nothing
	return word
}
