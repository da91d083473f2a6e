package cli_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// logged is what a line of the log means. Every line of level INFO and above that the product
// writes is here.
var logged = map[string]string{
	// What keeps the server, or a part of it, from its work.
	"the disk is full: reads and the inbox are served, nothing can be stored until there is room":                              "Free at least 16 MB on the disk that is named. The server goes on by itself; it says this again every ten minutes.",
	"the disk answers with errors, or not at all: look at it, and at the system's log; what cannot be stored is refused":       "Reads or writes fail or do not end, or the write-ahead log cannot be copied. `/healthz` is 503. Nothing that was acknowledged is lost; replace the disk, or move the directory after a proper stop.",
	"what is stored is damaged: stop the server and examine its data directory; runs that are not damaged are served":          "SQLite found a damaged page. `examine` is the command. `/healthz` is 503 until the next start.",
	"the data directory is not the one that was opened: the server ends, so that nothing is stored where it would be lost":     "It was moved, removed or replaced while the server ran. Bring it back and start the server. What was acknowledged is in the directory that was moved.",
	"a write was refused because it would leave the run in a state that nothing can set right; this is a fault of the program": "The run ends with `head_invariant`. Report it.",
	"the run's version of the agent cannot be run":                                                                             "The run ends in error: the version it is pinned to, or a tool it needs, is not there any more.",
	"a gate or a stop rule panicked; the call is denied, the run stopped":                                                      "A hook of yours has a mistake; the stack says where.",
	"the model failed":             "The run ends in error. The line has the endpoint's answer, which callers are not shown.",
	"a body or the model panicked": "A tool or a provider has a mistake; the stack says where. The call failed, or the model is asked again.",
	"a step panicked":              "A fault of the program or of a hook. The message comes again; after 20 times it is a dead letter. Report it.",
	"the file of tokens cannot be read; no caller is let in":                                                 "Every request is answered with 503 until it can be read.",
	"lines of the file of tokens are wrong and let no caller in":                                             "The other lines count. The line names the wrong ones.",
	"the recording cannot be written; runs go on and are not in it, the command runs record adds them later": "Look at the file that `--record` names, and its disk.",
	"starting a run from the intake queue panicked":                                                          "A fault of the program. The message comes again. Report it.",
	"starting a run from the intake queue failed":                                                            "A fault of the program. The message comes again, and is put aside in the end. Report it.",
	"request failed":                         "A request was answered with 500; the error says why. Report it.",
	"a request was refused with 503":         "`code` and `error` say why; `others_since_last` how many more there were. At most one in ten seconds for each code. ERROR where waiting does not help (`storage_failing`, `storage_damaged`, `storage_gone`, `storage_denied`, `unreadable`), else WARN.",
	"handler panicked":                       "A fault of the program; the caller got 500. Report it.",
	"request not understood":                 "Something other than API Gateway or a function URL calls the function.",
	"answer too large":                       "An answer was larger than the platform lets through; the caller got an error. Ask for smaller pages.",
	"a message made the function panic":      "A fault of the program or of a hook. The message comes again. Report it.",
	"metrics could not be written":           "Standard output is broken. The work itself was done.",
	"the sweep failed; the next one goes on": "Nothing that was due could be woken; the error says why. Several in a row delay deadlines and recovery.",
	"the function cannot start":              "A setting, a secret or a right is missing; the error says which.",

	// What may need a person if it lasts.
	"step given up":             "The store did not answer, or the lease was nearly over. The message comes again. Often: look at the store.",
	"receiving failed":          "The queue of the store did not answer. It is tried again at once.",
	"a run waits for its agent": "The agent cannot be served now, most often for a missing secret. The run is looked at again every 30 s.",
	"an agent is not served; its runs wait, and starts of it are refused": "See [an agent that cannot be served](../guides/run-in-production.md#an-agent-that-cannot-be-served).",
	"the model gave no turn":                                "The run asks its model again later. `answered` false for long is an outage.",
	"bedrock: the model did not answer":                     "The reason is in the line. The run asks again later, or ends, as the next line says.",
	"bedrock: the answer is not whole":                      "The run is stopped, or asks again. `stop_reason` says why.",
	"bedrock: the model's answer does not fit model.output": "The provider did not keep to the schema; the answer is treated as text.",
	"openai: ": "The endpoint did not answer, or not with a whole turn; the line has its status. The run asks again later, or ends.",
	"a run control gave no answer; that counts as no":                               "A function of the program's `RunControl` failed, panicked or took longer than a second. Said once until it answers; the runs go on.",
	"a newer version of the program wrote this run; only that version continues it": "The program was rolled back while runs of the newer version were suspended. They and their decisions are kept; deploy the newer version again.",
	"it cannot be told whether a newer run waits; the run makes no way":             "The list of runs did not answer. The run of an agent with `yield_when` goes on.",
	"an MCP server did not answer a call":                                           "The call failed, or its outcome is not known. Look at the server.",
	"a preview could not be made":                                                   "The approver is shown the arguments without it.",
	"nothing recalled":                                                              "The agent's memory did not answer. The run goes on without it.",
	"not remembered":                                                                "The agent's memory took nothing. The run goes on.",
	"not sent":                                                                      "A notice stays in the outbox and is sent again with the next step of the run.",
	"further threads could not be woken":                                            "There were more failures in one sweep than are listed.",
	"a due thread could not be woken; the next sweep tries again":                   "Its deadline or recovery is late. Again and again: look at the store.",
	"a part of what is due could not be read; the next sweep tries again":           "Deadlines and recovery are late. Again and again: look at the store.",
	"the clock was set, or the machine slept: times that are stored are held against the new time":                                                                           "`by` is how far. See [what clocks decide](../how-it-works/reliability.md#what-clocks-decide).",
	"what was stored too far ahead of the clock was brought back":                                                                                                            "The clock had been ahead. `entries` went on that would have waited for as long.",
	"cannot bring back what is stored too far ahead of the clock; it is tried again":                                                                                         "Until then these runs wait. The error says why.",
	"cannot store what the start could not store on the full disk; it is tried again":                                                                                        "Changed agents are not served yet.",
	"a tenant has nearly used up its storage; raise --tenant-bytes before its runs are refused":                                                                              "Once for each tenant. See [quotas](../guides/run-in-production.md#quotas).",
	"another server works on this data directory; give both the same agents and tokens: the agents of the one started last count for both, the tokens for each server alone": "Meant, or a wrong `--data`.",
	"a changed agent file has a mistake; a version in use stays in use":                                                                                                      "`version` is the one in use; without one the agent is not served. Correct the file. See [changed agent files](../guides/run-in-production.md#changed-agent-files).",
	"the directory of agents cannot be read; what was deployed stays in use":                                                                                                 "Look at `--agents`. Changes count again once it can be read.",
	"changed agents cannot be stored; it is tried again":                                                                                                                     "The store did not take them; the error says why. What was deployed stays in use.",
	"there is no agent file in the directory; nothing can be started":                                                                                                        "Look at `--agents`.",
	"a tenant that has tokens may use no agent; list it under tenants in an agent's file, or serve with --tenant":                                                            "Its callers can start nothing.",
	"the key of approval links cannot be stored: links that are made now end when the server stops":                                                                          "The disk is full, or the directory cannot be written.",
	"a run is not recorded": "The line says why. `dormouse runs record RUN FILE` adds it later.",
	"receiving from the intake queue failed; it is tried again":                  "The store did not answer.",
	"a message of the intake queue was put aside":                                "It can never be started; `reason` says why. On AWS it is in the dead-letter queue of the intake; `see` is the command that shows it elsewhere.",
	"a message comes again":                                                      "The step was not done; the error says why. ERROR where it is a fault of the program.",
	"a message could not be given back; it comes again when its visibility ends": "SQS did not answer. The run goes on some minutes later.",
	"how old the oldest due entry is could not be read":                          "The metric is missing once.",
	"the sweep had too little time; the next one goes on":                        "More is due than one sweep can wake. Often: raise its timeout.",
	"AWS cannot be called":                                                       "Credentials or the region are missing or wrong.",

	// What tells how it goes.
	"there is no store where one must exist; the server does not start": "The directory was moved or emptied, or `--data` is wrong. Bring it back; `--must-exist` keeps an empty store from being made.",
	"the store is not served; the server does not start":                "It is damaged, another one, older than it was, or of a newer version, or the disk answers with errors: `error` says which, and what to do.",
	"no store was here: an empty one was made":                          "The first start on this directory. If there was a store before, `--data` is wrong or the directory was emptied: stop, and look.",
	"took over what a stopped process left behind":                      "The server before was killed. `runs` were at work and go on.",
	"agent":                       "An agent is served, in this version.",
	"agent files were read again": "With `--watch`. `change` is `reloaded`, `added`, `unchanged` or `corrected`; new runs start with `version`.",
	"an agent was removed; runs that were started go on":                        "With `--watch`. Its file is gone: new runs are refused.",
	"there is room on the disk again; everything is served":                     "The end of a full disk.",
	"the disk answers again; everything is served":                              "The end of a failing disk.",
	"stored what the start could not store; changed agents are served":          "The end of a start on a full disk.",
	"the file of tokens was read again":                                         "It is good again, or was changed. `tokens` are let in now.",
	"a call waits for an answer":                                                "With the command that answers it.",
	"another owner took the run over":                                           "A step had lost its lease. Nothing of what it had not committed counts.",
	"bedrock: parts of the answer are of kinds that this version does not know": "They are left out of the turn.",
	"request":                       "One request on AWS, without anything secret.",
	"step":                          "One step on AWS.",
	"a wake-up found nothing to do": "It was stale, or another worker has the run.",
	"a message of the intake queue asks for nothing and is dropped": "Its body is empty.",
	"a message of the intake queue started a run":                   "`run` names it.",
	"a message of the intake queue comes again":                     "It can be started later; `code` says what it waits for.",
	"the platform stops this process":                               "Lambda ends an idle environment.",
}

// proof are the directories whose lines no operator sees.
var proof = []string{"sim", "e2e", "torture", "hostile", "awsdouble", "modeldouble", "modeltest", "replay", "rehearsal", "faults"}

// logLine is a line as the code writes it.
type logLine struct {
	levels, from map[string]bool
}

func TestTheLogPageHasEveryLine(t *testing.T) {
	lines := map[string]*logLine{}
	for _, dir := range []string{"../../internal", "../../functions", "../../lambdastep", "../../lambdaapi", "../../lambdasweep", "../../command"} {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test") || slices.Contains(proof, d.Name())):
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				return readLogLines(path, lines)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for text := range lines {
		if logged[text] == "" {
			t.Errorf("what the line %q means is not said", text)
		}
	}
	for text := range logged {
		if lines[text] == nil {
			t.Errorf("no code writes the line %q", text)
		}
	}
	const page = "../../docs/reference/log.md"
	want := logPage(lines)
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if diff := gocmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("the code (-) and docs/reference/log.md (+), which -update writes: %v\n%s", err, diff)
	}
}

// logMethods are the methods that write a line, with the place of its text among their arguments.
var logMethods = map[string]int{"Error": 0, "Warn": 0, "Info": 0, "ErrorContext": 1, "WarnContext": 1, "InfoContext": 1, "Log": 2}

func readLogLines(path string, lines map[string]*logLine) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !isLogger(method.X) {
			return true
		}
		at, ok := logMethods[method.Sel.Name]
		if !ok || len(call.Args) <= at {
			return true
		}
		text := literal(call.Args[at])
		if text == "" {
			return true
		}
		if lines[text] == nil {
			lines[text] = &logLine{map[string]bool{}, map[string]bool{}}
		}
		level := strings.ToUpper(strings.TrimSuffix(method.Sel.Name, "Context"))
		if level == "LOG" {
			level = "ERROR"
		}
		lines[text].levels[level] = true
		lines[text].from[where(path)] = true
		return true
	})
	return nil
}

func isLogger(x ast.Expr) bool {
	name := ""
	switch x := x.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	return name == "log" || name == "Log" || name == "Logger" || name == "raw"
}

// literal is the constant text that a line begins with.
func literal(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(x.Value)
		return text
	case *ast.BinaryExpr:
		return literal(x.X) + literal(x.Y)
	}
	return ""
}

func where(path string) string {
	for _, part := range []string{"/aws", "/functions/", "/lambda", "/bedrock/"} {
		if strings.Contains(path, part) {
			return "AWS"
		}
	}
	if strings.Contains(path, "/local/") {
		return "dev"
	}
	return "both"
}

func logPage(lines map[string]*logLine) string {
	var b strings.Builder
	b.WriteString(`# The log

Every line of level INFO and above that a server writes, by its ` + "`msg`" + `. ` + "`dormouse dev` and `dormouse serve`" + ` write them to standard error, functions on AWS to their log groups. The
page is made from the code, and a test holds both together. Alarms belong on ERROR; a WARN is worth a look if it lasts.
`)
	for _, level := range []struct{ name, about string }{{"ERROR", "A person has to do something."}, {"WARN", "It goes on by itself, or costs something."}, {"INFO", "It tells how it goes."}} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| line | written by | meaning |\n|---|---|---|\n", level.name, level.about)
		var texts []string
		for text, l := range lines {
			if l.levels[level.name] {
				texts = append(texts, text)
			}
		}
		slices.SortFunc(texts, func(a, c string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(c)) })
		for _, text := range texts {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.TrimSuffix(text, ": "), from(lines[text]), logged[text])
		}
	}
	return b.String()
}

func from(l *logLine) string {
	switch {
	case len(l.from) > 1 || l.from["both"]:
		return "both"
	case l.from["AWS"]:
		return "AWS"
	}
	return "`dormouse dev`"
}
