package browsertest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a deliberate mistake in the pages, and the test that must find it.
type mutant struct {
	why      string
	file     string // below internal/api
	old, new string
	test     string // in a browser
	within   string // the package of a test that needs none, below internal/api
}

var mutants = []mutant{
	{why: "Enter in a field presses the first button that is not disabled: the one that approves.", file: "httpapi/linkpage/form.go",
		old: `" hidden>Look</button>`, new: `" disabled hidden>Look</button>`, test: "TestEnterNeverAnswers"},
	{why: "The first button of a form is missing, and Enter in a field presses the one that answers.", file: "httpapi/linkpage/form.go",
		old: "m.add(`<button name=\"action\" value=\"`, enter, `\" hidden>Look</button>`)", new: "_ = enter", test: "TestEnterOnEveryControl/a_link_with_fields"},
	{why: "Enter in a field of an edit approves, and the difference was never shown.", file: "httpapi/linkpage/edit.go",
		old: "v.begin(m, actionCompare)", new: "v.begin(m, actionEdit)", test: "TestEnterOnEveryControl/an_edit"},
	{why: "A key takes an answer back that people press for something else.", file: "console/console.js",
		old: "  z: () =>", new: "  Enter: () =>", test: "TestEnterOnEveryControl/an_outcome"},
	{why: "Names and values that are read from right to left change places.", file: "httpapi/linkpage/page.css",
		old: "unicode-bidi: isolate", new: "unicode-bidi: normal", test: "TestHostileQuestionsInABrowser/rtl:_hebrew_alone"},
	{why: "A list has text of others as it is.", file: "console/page.go",
		old: "template.HTML(linkpage.Text(text))", new: "template.HTML(template.HTMLEscapeString(text))", test: "TestForeignTextInEveryPlace/runs"},
	{why: "What is odd about a value isn't said.", file: "httpapi/linkpage/values.go",
		old: "\tm.warnings(row.Warnings)\n", new: "", test: "TestHostileQuestionsInABrowser/rtl:_hebrew_alone"},
	{why: "The button that says no approves, and the other way round.", file: "httpapi/linkpage/form.go",
		old: `name="action" value="resume">`, new: `name="action" value="cancel">`, test: "TestTheWholeWayWithoutAScript"},
	{why: "The page says which button was pressed, and another answer was stored before.", file: "console/question.go",
		old: "\tcase waits == nil:\n\t\tc.seeOther(w, \"/questions/\"+sus+countedAs(form, sus, became.Decision, l.Caller().By))\n\t\treturn nil\n",
		new: "\tcase waits == nil:\n\t\treturn c.outcome(w, l, http.StatusOK, wire.Outcome{State: \"answered\", RunID: became.RunID, Decision: &wire.OutcomeDecision{Action: form.Get(\"action\")}}, \"\")\n", test: "TestTwoTabsAnswer"},
	{why: "What was approved need not be what was shown.", file: "console/question.go",
		old: "Arguments: v.Arguments, Shown: v.Shown,", new: "Arguments: v.Arguments,", within: "console"},
	{why: "A page that is loaded again counts the whole hold down once more.", file: "console/console.js",
		old: "Number(held.dataset.left)", new: "8000", test: "TestTheHoldIsCountedDown"},
	{why: "What has no receipt is taken for an answer.", file: "console/console.js",
		old: "got === null || got.status >= 500", new: "false", test: "TestAnAnswerWhoseReceiptIsLost/after_it_was_stored"},
	{why: "What the model is saying now is shown as it is.", file: "console/console.js",
		old: "speech.textContent = plain(said)", new: "speech.textContent = said", test: "TestForeignTextThatComesLater"},
	{why: "An undo without a receipt is taken for one that failed.", file: "console/console.js",
		old: `"edit", "withdraw"]`, new: `"edit"]`, test: "TestSeveralAnswersAndUndosWhoseReceiptIsLost/before_it_arrived"},
	{why: "The button that takes an answer back doesn't.", file: "httpapi/linkpage/undo.go",
		old: `value="withdraw">Undo`, new: `value="look">Undo`, test: "TestAnAnswerIsTakenBackInABrowser/a_link"},
}

// Each mutant dies: with it, its test fails, and not because the code doesn't build.
func TestMutantsDie(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the pages for each")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		t.Run(m.why, func(t *testing.T) {
			t.Parallel()
			at := filepath.Join(root, filepath.FromSlash(m.file))
			source, err := os.ReadFile(at)
			if err != nil || !strings.Contains(string(source), m.old) {
				t.Fatalf("the code has moved on: adapt this mutant, %v", err)
			}
			changed, overlay := filepath.Join(t.TempDir(), "changed"), filepath.Join(t.TempDir(), "overlay.json")
			replaces, err := json.Marshal(map[string]any{"Replace": map[string]string{at: changed}})
			if err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{changed: strings.ReplaceAll(string(source), m.old, m.new), overlay: string(replaces)} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args, dir := []string{"test", "-count", "1", "-failfast", "-overlay", overlay, "-run", "^" + strings.ReplaceAll(m.test, "/", "$/^") + "$", "."}, "."
			if m.within != "" {
				args, dir = []string{"test", "-count", "1", "-failfast", "-overlay", overlay, "."}, filepath.Join(root, m.within)
			}
			cmd := exec.CommandContext(t.Context(), "go", args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "DORMOUSE_MUTANT=yes")
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "--- FAIL") {
				t.Errorf("it lives: %v\n%s", err, out)
			}
		})
	}
}
