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

// logged says what a line of the log means and what to do. Every line of level INFO and above that
// the product writes is here. The page leaves out those whose meaning begins with "-": there is
// nothing to do about them.
var logged = map[string]string{
	// Errors: an operator has to act.
	"the disk is full: reads and the inbox are served, writes are refused until there is space":                        "Free at least 16 MB; the server then recovers by itself.",
	"the disk returns errors or does not respond: check the disk and the system log; writes that fail are refused":     "Replace the disk, or stop the server and move the directory. Acknowledged data is safe.",
	"the store is damaged: stop the server and examine its data directory; undamaged runs are served":                  "SQLite found a damaged page. Stop the server and run the command in the field `examine`.",
	"the data directory is no longer the one that the server opened: the server stops, because new data would be lost": "Move the directory back and restart the server. The directory has all acknowledged data.",
	"a write was refused because it would leave the run in an invalid state; this is a bug":                            "A bug. The run ends with the code `head_invariant`.",
	"the run's version of the agent can't run":                                                                         "The run ends in error, because its agent version or a tool is missing.",
	"cannot read who is notified of a run; the run ends without notices":                                               "The run ends in error, because its agent version or the targets in its start can't be decoded.",
	"a gate or a stop rule panicked; the call is denied or the run stopped":                                            "Fix the Go function; `stack` shows where.",
	"the model failed":             "The run ends in error. The line has the endpoint's response, which callers don't see.",
	"a tool or the model panicked": "Fix the tool or provider; `stack` shows where. If it was a tool, its call fails; if it was a model, it is asked again.",
	"a step panicked":              "A bug, perhaps in a hook. The server retries the step 20 times, then moves it to the dead letters.",
	"cannot read the token file; all callers are refused":                                                            "Make the file readable; until then requests get 503.",
	"the token file has invalid lines; their tokens are refused":                                                     "Fix the lines that `error` names. Other lines work.",
	"cannot write the recording: runs continue but are missing from it; add them later with the command runs record": "Check the `--record` file and its disk, then add the missing runs with `dormouse runs record`.",
	"starting a run from the intake queue panicked":                                                                  "A bug. The request is retried.",
	"starting a run from the intake queue failed":                                                                    "A bug. The request is retried, then moved to the dead letters.",
	"request failed":                                      "The caller got 500. Report the line.",
	"the identity provider failed":                        "People can't sign in to answer links; `error` says why. Check `--oidc-issuer` (`SignInIssuer` on AWS) and the secret `OIDC_CLIENT_SECRET`.",
	"a person who signed in is not admitted":              "The account may not answer; `reason` says why.",
	"a request was refused with 503":                      "Each `code` is logged at most once every ten seconds; `others_since_last` counts the omitted lines. If a retry can help, the level is WARN.",
	"handler panicked":                                    "A bug; the caller got 500.",
	"request not understood":                              "The function was invoked by something other than API Gateway or its URL.",
	"answer too large":                                    "The response exceeded Lambda's limit. Request smaller pages.",
	"a message made the function panic":                   "A bug, perhaps in a hook. The message is retried.",
	"cannot write metrics":                                "-Standard output failed. The function did its work.",
	"the sweep failed; the next one continues":            "Due runs weren't woken. If this repeats, deadlines and crash recovery are late.",
	"the function cannot start":                           "A setting, secret or permission is missing or wrong.",
	"the new version failed its test and gets no traffic": "`error` says why.",

	// Warnings: an operator has to act if they persist.
	"an answer of several failed":                                                                            "The store failed for one of several decisions; its approver sees that. The others have their own outcome.",
	"decisions are not limited, because their rate can't be counted":                                         "The table doesn't answer for the tenant's rate, so its decisions are accepted. Check the table's capacity.",
	"an answer may be stored or not":                                                                         "The store failed while it stored an answer. Its page offers to send the same answer again.",
	"an undo of several failed":                                                                              "The store failed for one of several; its approver sees which.",
	"what earlier tests have left could not be deleted; no caller sees it":                                   "-The next test tries again.",
	"it could not be read whether the step function is stopped":                                              "-The new version is tested.",
	"the step function is stopped (its reserved concurrency is 0), so the new version passes without a test": "-The stack is being restored.",
	"step given up":                                        "The store was slow, or the worker's time for the step was nearly over. The step is retried. If it repeats, check the store.",
	"receiving failed":                                     "The store didn't respond. Check it.",
	"a delivery panicked":                                  "A bug. The delivery is repeated.",
	"a delivery failed; the sweep repeats it":              "The store didn't respond. Check it.",
	"a notice could not be delivered and is a dead letter": "The endpoint refused it for a day, or is gone. List such notices with `dormouse webhooks dead`.",
	"the wake-up for a delivery could not be sent; the sweep finds it":                    "The notice is late by at most a sweep.",
	"the wake-up of another run could not be sent; the sweep finds it":                    "A child or a parent hears of it late by at most a sweep.",
	"a one-time code could not be sent":                                                   "The mail server didn't take it. Check its settings.",
	"a notice could not be prepared; it is attempted again":                               "The store didn't respond. Check it.",
	"the wake-up for the next delivery could not be sent; the sweep finds it":             "The notice is late by at most a sweep.",
	"an attempt to deliver a notice failed":                                               "It is repeated for a day. `status` and `error` are the endpoint's.",
	"another worker took the line over":                                                   "The other worker continues with the deliveries.",
	"a hook file has a mistake; its deliveries are refused":                               "Fix the file; `error` names the lines.",
	"a hook's secret is not set; its deliveries are refused":                              "Set the environment variable that `set` names, and restart the server.",
	"cannot read the folder of the hook files":                                            "Make the folder readable. The hooks that were read before stay in use.",
	"a run waits for its agent":                                                           "Fix the agent; usually a secret is missing. The run continues within 30 s.",
	"an agent cannot be served; its runs wait, and new runs are refused":                  "See [an agent that cannot be served](../guides/run-in-production.md#an-agent-that-cannot-be-served).",
	"a tool calls an agent that does not exist; its calls fail until the agent is served": "Create the agent or correct its name; `error` names the line.",
	"the model returned no turn":                                                          "The run retries later. If `answered` is false each time, the provider is down.",
	"bedrock: the model did not answer":                                                   "-The next line says whether the run retries or ends.",
	"bedrock: the answer is incomplete":                                                   "-The run stops or retries; `stop_reason` says why.",
	"bedrock: the model's answer does not match model.output":                             "-The provider ignored the schema. The answer counts as text.",
	"openai: ": "The endpoint failed, or its answer is incomplete; the line has the status. The run retries or ends.",
	"a run control gave no answer; the run continues":                                           "Fix your program's `RunControl` function.",
	"a newer version of the program wrote this run; only that version continues it":             "Happens after a rollback. Deploy the newer version again; runs and decisions are kept.",
	"the store cannot say whether a newer run waits; the run does not yield":                    "-The run continues.",
	"the remote agent did not answer":                                                           "The run asks it again later. If it repeats, check the agent and the network.",
	"an A2A agent did not do what was asked":                                                    "A request to a remote agent failed; `call` and `cause` say which and why.",
	"an MCP server did not answer a call":                                                       "The call failed, or its outcome is unknown. Check the server.",
	"a preview could not be made":                                                               "The approver sees only the arguments. Check the tool that makes the [preview](../reference/agent-file.md#previews).",
	"cannot read the agent's memory":                                                            "Check the agent's memory. The run continues without it.",
	"cannot store in the agent's memory":                                                        "Check the agent's memory. The run continues; the note is lost.",
	"not sent":                                                                                  "What `kind` names, such as a notice or the stop of a remote task, failed. It is retried.",
	"further threads could not be woken":                                                        "-More failures in this sweep than are listed.",
	"a due thread could not be woken; the next sweep tries again":                               "A deadline, or recovery after a crash, is late. Check the store.",
	"some due entries could not be read; the next sweep tries again":                            "Deadlines and crash recovery are late. Check the store.",
	"the clock was set, or the machine slept: stored times are compared with the new time":      "`by` is the difference. See [what clocks decide](../how-it-works/reliability.md#what-clocks-decide).",
	"corrected times that were stored too far ahead of the clock":                               "-The clock had been ahead; `entries` wake-ups were rescheduled.",
	"cannot correct times stored too far ahead of the clock; retrying":                          "Runs with such times wait until the correction succeeds.",
	"cannot store agents that changed before the start; retrying":                               "The changed agents aren't served yet.",
	"a tenant has nearly used up its storage; raise --tenant-bytes before its runs are refused": "The line appears once per tenant. See [quotas](../guides/run-in-production.md#quotas).",
	"another server uses this data directory; give both the same agents and tokens: both run the agents of the server started last, and each accepts only its own tokens": "If you didn't intend two servers, check `--data`.",
	"a changed agent file has a mistake; a version that is in use stays in use":                                                                                           "Fix the file. If the line has no `version`, the agent isn't served at all. See [changed agent files](../guides/run-in-production.md#changed-agent-files).",
	"cannot read the agents directory; the deployed versions stay in use":                                                                                                 "Check `--agents`. Changes apply once the directory is readable.",
	"cannot store changed agents; retrying":                                                                                                                               "Deployed versions stay in use.",
	"the agents directory has no agent file; no run can be started":                                                                                                       "Check `--agents`.",
	"a tenant has tokens but no agent; list it under tenants in an agent file, or serve with --tenant":                                                                    "List the tenant under `tenants` in an agent file, or use `--tenant`.",
	"cannot store the approval link key: new links stop working when the server stops":                                                                                    "The disk is full, or the directory is read-only.",
	"a run is not recorded":                                                       "Use `dormouse runs record RUN FILE` later.",
	"receiving from the intake queue failed; retrying":                            "The store didn't respond. Check it.",
	"a message of the intake queue was moved to the dead letters":                 "`reason` says why the request can't start a run. On a server, `see` has the command that shows the message.",
	"a message comes again":                                                       "The message is retried. If the level is ERROR, it's a bug.",
	"cannot return a message to the queue; it reappears when its visibility ends": "-SQS failed; the message returns minutes later.",
	"cannot read the age of the oldest due entry":                                 "-The metric is missing once.",
	"the sweep ran out of time; the next one continues":                           "If it repeats, raise the sweep's timeout.",
	"AWS cannot be called":                                                        "Set the credentials and the region.",

	// Progress.
	"the data directory has no store and --must-exist is set; the server does not start": "The directory was moved or emptied, or `--data` is wrong.",
	"the store cannot be opened; the server does not start":                              "`error` says what to do. The store is damaged, replaced, too old or too new, or the disk failed.",
	"created an empty store, because the data directory had none":                        "If this isn't the first start, stop the server: `--data` is wrong, or the directory was emptied.",
	"took over the runs of a stopped process":                                            "-The previous server was killed; its `runs` continue.",
	"hook":                        "-A hook receives deliveries for `tenant`.",
	"agent":                       "-An agent is served, in this version.",
	"agent files were read again": "-`change`: `reloaded`, `added`, `unchanged` or `corrected`; new runs use `version`.",
	"an agent was removed; its runs continue":                              "-New runs are refused.",
	"the disk has space again; everything is served":                       "-The disk is no longer full.",
	"the disk works again; everything is served":                           "-The disk works again.",
	"stored the agents that changed before the start; they are served now": "-Recovered from a start on a full disk.",
	"reloaded the token file":                                              "-It changed or is valid again; `tokens` are accepted.",
	"a page of another site was refused":                                   "-`reason` names the origin and the setting that allows it.",
	"a call waits for an answer":                                           "-The line has the command that answers it.",
	"another owner took the run over":                                      "-A step lost its lease; its uncommitted work is void.",
	"bedrock: parts of the answer are of unknown kinds":                    "-They are omitted from the turn.",
	"request":                       "-One API request on AWS, without secrets.",
	"step":                          "-One step on AWS.",
	"a wake-up found nothing to do": "-It was stale, or another worker has the run.",
	"a message of the intake queue is empty and is dropped":          "-Its body is empty.",
	"a message of the intake queue started a run":                    "-`run` is its id.",
	"a message of the intake queue comes again":                      "-Retried later; `code` says why it can't start yet.",
	"Lambda is stopping this process":                                "-Lambda stops an idle environment.",
	"the new version passed its test":                                "-The step function's new version gets traffic.",
	"a test of the new version was undecided; it begins again":       "-A service did not answer, or another version had the run.",
	"what a test has stored could not be deleted; no caller sees it": "-Runs of tests are of no tenant.",
}

// proof are directories whose lines no operator sees.
var proof = []string{"sim", "e2e", "torture", "hostile", "awsdouble", "modeldouble", "modeltest", "replay", "rehearsal", "faults"}

// logLine is a line as the code writes it.
type logLine struct {
	levels, from map[string]bool
}

func TestTheLogPageHasEveryLine(t *testing.T) {
	lines := map[string]*logLine{}
	for _, dir := range []string{"../../internal", "../../functions", "../../lambdastep", "../../lambdaapi", "../../lambdadecision", "../../lambdaconsole", "../../lambdaintake", "../../lambdanotify", "../../lambdasweep", "../../command"} {
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
			t.Errorf("the line %q is not explained", text)
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
		t.Errorf("the code (-) and docs/reference/log.md (+) differ; -update writes the page: %v\n%s", err, diff)
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

// literal is the constant text at the start of a line.
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
	b.WriteString(`# Log lines

This page lists the log lines that may need action, by the start of their ` + "`msg`" + `. The field
` + "`error`" + `, if present, gives the cause. A server logs to standard error; functions on AWS log to their log groups. Alarm
on ERROR, and investigate a WARN that persists. Report bugs. <!-- Generated from the code -->
`)
	for _, level := range []string{"ERROR", "WARN", "INFO"} {
		fmt.Fprintf(&b, "\n## %s\n\n|line|only on|meaning and remedy|\n|---|---|---|\n", level)
		var texts []string
		for text, l := range lines {
			if l.levels[level] && !strings.HasPrefix(logged[text], "-") {
				texts = append(texts, text)
			}
		}
		slices.SortFunc(texts, func(a, c string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(c)) })
		for _, text := range texts {
			fmt.Fprintf(&b, "|`%s`|%s|%s|\n", beginning(text), from(lines[text]), logged[text])
		}
	}
	return b.String()
}

// beginning is the first clause of a line.
func beginning(text string) string {
	at := strings.IndexAny(strings.TrimPrefix(text, "bedrock:"), ":;,")
	if at < 0 {
		return text
	}
	return text[:len(text)-len(strings.TrimPrefix(text, "bedrock:"))+at]
}

// from is where alone the line is written; empty if a server and a function may write it.
func from(l *logLine) string {
	switch {
	case len(l.from) > 1 || l.from["both"]:
		return ""
	case l.from["AWS"]:
		return "AWS"
	}
	return "server"
}
