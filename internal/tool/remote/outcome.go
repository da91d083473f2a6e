package remote

import (
	"cmp"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// Words are how an adapter speaks of its calls. All are parts of sentences that this package
// completes.
type Words struct {
	Read string // "api.example.com was asked": of a call that only reads
	Sent string // "The request was sent to api.example.com": of any other
	// "pay was sent to api.example.com": in the question to a person, with the tool's name
	Asked   string
	Before  string // "It was sent before": of an earlier attempt
	Subject string // "api.example.com ": of what a call that did not run is said; may be empty
	// "The request could not be sent again: api.example.com ": the same, after an earlier
	// attempt
	Again   string
	Crashed string // "sent it": what a crashed process may have done
}

// Sentences that more than one outcome ends with.
const (
	openEffect = " The call may or may not have taken effect."
	report     = " Say what happened: its result, its error, or that it did not happen and may run."
)

// NotRun is the outcome of a call that was not sent, and why.
func (c Call) NotRun(why string) core.Outcome { return c.Finish(notRun(why)) }

func notRun(why string) core.Outcome { return failed("The call did not run: " + why + ".") }

func failed(text string) core.Outcome { return core.Outcome{Failed: true, Text: text} }

// notSent: the last attempt had no effect, which says nothing of an earlier one.
func (c Call) notSent(why, earlier string) core.Outcome {
	if earlier == "" {
		return notRun(c.Words.Subject + why)
	}
	out := c.unknown(Unknown{Why: earlier}, "")
	out.Text += " " + c.Words.Again + why + "."
	return out
}

// refused: the call may be refused because an earlier attempt took effect.
func (c Call) refused(a Refused, earlier string) core.Outcome {
	if a.Said == "" || a.Why != "" && earlier == "" {
		return c.notSent(a.Why, earlier)
	}
	return failed(a.Said + c.before(earlier))
}

// unknown: the call was sent, and what became of it is not known. If it may be repeated, the model
// is shown that and can call again. If not, a person is asked, as for a body whose process was
// lost. One that was tried again until there were enough attempts speaks for those before it.
func (c Call) unknown(a Unknown, earlier string) core.Outcome {
	switch {
	case !c.repeatable():
		return core.Outcome{Kind: core.KindUnknownOutcome, Ticket: &core.SuspendTicket{Pending: core.PendingCall(c.Request.Call),
			Suspension: core.Suspension{Action: "report_outcome", Message: c.Words.Asked + ", and " + a.Why + "." + report}}}
	case c.ReadOnly:
		return failed(cmp.Or(a.Said, c.Words.Read+", and "+a.Why+"."))
	case a.Said == "":
		return failed(c.Words.Sent + ", and " + a.Why + ". It may or may not have taken effect.")
	case a.Retry || earlier == "":
		return failed(a.Said + openEffect)
	}
	return failed(a.Said + c.before(earlier))
}

// answered: a success settles everything, a failure only itself.
func (c Call) answered(a Answered, earlier string) core.Outcome {
	out := a.Outcome
	switch {
	case !out.Failed || c.ReadOnly:
	case earlier != "":
		out.Text += c.before(earlier)
	case !a.Settled:
		out.Text += openEffect
	}
	return out
}

// before is what follows a failure if an earlier attempt may have taken effect.
func (c Call) before(earlier string) string {
	if earlier == "" || c.ReadOnly {
		return ""
	}
	return " " + c.Words.Before + ", and " + earlier + ": the call may or may not have taken effect."
}

// Finish makes an outcome that did not come from [Call.Run] fit to be stored and shown: its texts
// hold no value of [Call.Hidden] and are valid UTF-8, and a failure of a repeat says that the
// crashed process before it may have had an effect.
func (c Call) Finish(out core.Outcome) core.Outcome {
	var hidden secret.Values
	if c.Hidden != nil {
		hidden = c.Hidden()
	}
	clean := func(text string) string { return strings.ToValidUTF8(hidden.Redact(text), "\uFFFD") }
	out.Text = clean(out.Text)
	for i := range out.Media {
		out.Media[i].Name = clean(out.Media[i].Name)
	}
	if out.Ticket != nil {
		ticket := *out.Ticket
		ticket.Suspension.Message = clean(ticket.Suspension.Message)
		out.Ticket = &ticket
	}
	if out.Failed && c.Request.Again && !c.ReadOnly {
		out.Text += " This is of the repeat alone: the process that had the call before was lost, and may have " + c.Words.Crashed + "." + openEffect
	}
	return out
}
