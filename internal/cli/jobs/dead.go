package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// mostLetters is how many messages of each kind are shown.
const mostLetters = 100

// letters shows, retries or deletes dead letters.
func (a *app) letters(ctx context.Context, f intakeFlags) error {
	queue, err := local.OpenIntake(ctx, f.data, false)
	if errors.Is(err, fs.ErrNotExist) {
		return cmdline.Usagef("%s has no store; set --data to the data directory of the server", f.data)
	}
	if err != nil {
		return err
	}
	defer queue.Close()
	switch {
	case f.retryDead:
		n, err := queue.RetryDead(ctx, f.tenant)
		return a.moved("retried", n, "put back into the queue", err)
	case f.forgetDead:
		n, err := queue.DropDead(ctx, f.tenant)
		return a.moved("forgotten", n, "deleted", err)
	}
	report, err := readIntake(ctx, queue, f.tenant)
	if err != nil {
		return err
	}
	switch {
	case f.status && a.JSON:
		return a.PrintJSON(report.intakeCounts)
	case a.JSON:
		return a.PrintJSON(report)
	case f.status:
		return a.printStatus(report, f)
	}
	return a.printIntake(report, f)
}

func (a *app) moved(word string, n int, words string, err error) error {
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(map[string]int{word: n})
	}
	letters := "letters"
	if n == 1 {
		letters = "letter"
	}
	return a.Printf("%d dead %s %s\n", n, letters, words)
}

// intakeCounts is what --status prints as JSON.
type intakeCounts struct {
	Waiting   int `json:"waiting"`
	GivenBack int `json:"given_back"` // of those that wait
	Dead      int `json:"dead"`
}

// intakeReport is what --dead prints as JSON.
type intakeReport struct {
	intakeCounts
	Back    []intakeLetter `json:"waiting_messages"` // that were given back
	Letters []intakeLetter `json:"dead_messages"`
}

type intakeLetter struct {
	ID         string    `json:"id"`
	Key        string    `json:"idempotency_key,omitempty"`
	Agent      string    `json:"agent,omitempty"`
	Code       string    `json:"code"`
	Detail     string    `json:"detail"`
	EnqueuedAt wire.Time `json:"enqueued_at"`
	DiedAt     wire.Time `json:"died_at,omitzero"`
	NextAt     wire.Time `json:"next_at,omitzero"`
	Message    string    `json:"message"`
}

func readIntake(ctx context.Context, queue *local.Intake, tenant string) (r intakeReport, err error) {
	counts, err := queue.Counts(ctx, tenant)
	if err != nil {
		return r, err
	}
	back, err := queue.Back(ctx, tenant, mostLetters)
	if err != nil {
		return r, err
	}
	dead, err := queue.Dead(ctx, tenant, mostLetters)
	r = intakeReport{intakeCounts{counts.Waiting, counts.Back, counts.Dead}, []intakeLetter{}, []intakeLetter{}}
	for _, l := range back {
		shown := letterOf(l)
		shown.NextAt = wire.Millis(l.Since)
		r.Back = append(r.Back, shown)
	}
	for _, l := range dead {
		shown := letterOf(l)
		shown.DiedAt = wire.Millis(l.Since)
		r.Letters = append(r.Letters, shown)
	}
	return r, err
}

// letterOf shows the readable part of a message.
func letterOf(l sqlite.IntakeLetter) intakeLetter {
	var m struct {
		Key   string `json:"idempotency_key"`
		Agent string `json:"agent"`
	}
	_ = json.Unmarshal(l.Body, &m) // unreadable members stay empty
	return intakeLetter{ID: strconv.FormatInt(l.ID, 10), Key: m.Key, Agent: m.Agent, Code: l.Code, Detail: l.Detail,
		EnqueuedAt: wire.Millis(l.At), Message: strings.ToValidUTF8(string(l.Body), "\uFFFD")}
}

// printCounts prints how many messages are waiting and how many are dead letters.
func (a *app) printCounts(r intakeCounts) error {
	waiting := strconv.Itoa(r.Waiting)
	if r.GivenBack > 0 {
		waiting += fmt.Sprintf(", %d of them to be retried later", r.GivenBack)
	}
	return a.Table([][]string{{"waiting", waiting}, {"dead", strconv.Itoa(r.Dead)}})
}

// printStatus prints the counts, and the command that lists the messages.
func (a *app) printStatus(r intakeReport, f intakeFlags) error {
	if err := a.printCounts(r.intakeCounts); err != nil || r.Dead+r.GivenBack == 0 {
		return err
	}
	return a.Printf("details: %s enqueue --dead%s\n", a.Typed(), f.again())
}

func (a *app) printIntake(r intakeReport, f intakeFlags) error {
	if err := a.printCounts(r.intakeCounts); err != nil {
		return err
	}
	if err := a.printLetters("to be retried", "NEXT TRY", r.Back, r.GivenBack); err != nil {
		return err
	}
	if err := a.printLetters("dead", "SINCE", r.Letters, r.Dead); err != nil || r.Dead == 0 {
		return err
	}
	return a.Printf("\nretry them:  %[1]s enqueue --retry-dead%[2]s\ndelete them: %[1]s enqueue --forget-dead%[2]s\n", a.Typed(), f.again())
}

// again are the flags that select the same messages.
func (f intakeFlags) again() (flags string) {
	if f.data != ".dormouse" {
		flags += " --data " + scaffold.ShellWord(f.data)
	}
	if f.tenant != access.Tenant {
		flags += " --tenant " + f.tenant
	}
	return flags
}

func (a *app) printLetters(sort, when string, letters []intakeLetter, of int) error {
	if len(letters) == 0 {
		return nil
	}
	rows := [][]string{{"KEY", "AGENT", when, "CODE", "WHY"}}
	for _, l := range letters {
		at := l.DiedAt
		if at.IsZero() {
			at = l.NextAt
		}
		rows = append(rows, []string{display.Brief(l.Key), display.Brief(l.Agent), display.Clock(at), l.Code, display.OneLine(l.Detail)})
	}
	if err := a.Printf("\n%s:\n", sort); err != nil {
		return err
	}
	if err := a.Table(rows); err != nil || len(letters) == of {
		return err
	}
	return a.Printf("and %d more\n", of-len(letters))
}
