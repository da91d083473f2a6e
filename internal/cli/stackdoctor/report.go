// Package stackdoctor checks a stack on AWS: its clock, region, quotas, table, queues, alarms,
// versions, policy and models. Each check is a function over a small interface, and returns
// findings that say what to do. Nothing is changed.
//
// A check that the credentials don't permit, or that gets no answer, is a finding with the status
// [Unchecked]. The other checks continue.
package stackdoctor

import (
	"errors"
	"fmt"
	"slices"
)

// The statuses of a finding. Scripts rely on these values.
const (
	OK        = "ok"
	Warning   = "warning"
	Failed    = "failed"
	Unchecked = "unchecked"
)

// Unfinished is the state of a report without failures, in which something was not checked.
const Unfinished = "unfinished"

// Finding is one line of a report.
type Finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // [OK], [Warning], [Failed] or [Unchecked]
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"`
}

// Report is what the checks of a stack found.
type Report struct {
	State    string    `json:"state"` // [OK], [Warning], [Failed] or [Unfinished]
	Stack    string    `json:"stack"`
	Region   string    `json:"region"`
	Findings []Finding `json:"findings"`
}

func stateOf(all []Finding) string {
	has := func(status string) bool {
		return slices.ContainsFunc(all, func(f Finding) bool { return f.Status == status })
	}
	switch {
	case has(Failed):
		return Failed
	case has(Unchecked):
		return Unfinished
	case has(Warning):
		return Warning
	}
	return OK
}

// Denied is the error of a call that the credentials don't permit.
type Denied struct{ Action string } // of IAM, such as dynamodb:DescribeTable

func (d *Denied) Error() string { return "the credentials don't permit " + d.Action }

// ErrMissing is the error of a call about something that does not exist.
var ErrMissing = errors.New("it does not exist")

// results collects the findings of one check.
type results struct {
	check string
	found []Finding
}

func (r *results) ok(format string, args ...any) {
	r.found = append(r.found, Finding{Check: r.check, Status: OK, Detail: fmt.Sprintf(format, args...)})
}

func (r *results) warn(do, format string, args ...any) {
	r.found = append(r.found, Finding{r.check, Warning, fmt.Sprintf(format, args...), do})
}

func (r *results) fail(do, format string, args ...any) {
	r.found = append(r.found, Finding{r.check, Failed, fmt.Sprintf(format, args...), do})
}

// unread adds that what could not be read, once for each missing permission.
func (r *results) unread(what string, err error) {
	f := Finding{r.check, Unchecked, fmt.Sprintf("%s: %v", what, err), "run the command again"}
	if denied, is := errors.AsType[*Denied](err); is {
		f.Detail, f.Do = fmt.Sprintf("%s: needs %s", what, denied.Action), "permit "+denied.Action+" to your credentials"
		if slices.ContainsFunc(r.found, func(other Finding) bool { return other.Do == f.Do }) {
			return
		}
	}
	r.found = append(r.found, f)
}
