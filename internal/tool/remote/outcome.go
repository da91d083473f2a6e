package remote

import (
	"cmp"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// Words are the adapter's parts of the sentences that this package completes.
type Words struct {
	Read string // "A request was sent to api.example.com": for a call that only reads
	Sent string // "The request was sent to api.example.com": for any other call
	// "pay was sent to api.example.com", with the tool's name: for the question to a person
	Asked   string
	Before  string // "It was sent before": for an earlier attempt
	Subject string // "api.example.com ": for a call that did not run; may be empty
	// "The request could not be sent again: api.example.com ": the same, after an earlier
	// attempt
	Again   string
	Crashed string // "sent it": what a crashed process may have done
}

// Endings that several outcomes share.
const (
	openEffect = " The call may or may not have taken effect."
	report     = " Say what happened: its result, its error, or that it did not happen and may run."
)

// NotRun is the outcome of a call that was not sent, with the reason.
func (c Call) NotRun(why string) core.Outcome { return c.Finish(notRun(why)) }

func notRun(why string) core.Outcome { return failed("The call did not run: " + why + ".") }

func failed(text string) core.Outcome { return core.Outcome{Failed: true, Text: text} }

// notSent is the outcome of a last attempt without effect, which proves nothing about an earlier
// one.
func (c Call) notSent(why, earlier string) core.Outcome {
	if earlier == "" {
		return notRun(c.Words.Subject + why)
	}
	out := c.unknown(Unknown{Why: earlier}, "")
	out.Text += " " + c.Words.Again + why + "."
	return out
}

// refused is the outcome of a refusal. The reason may be that an earlier attempt took effect.
func (c Call) refused(a Refused, earlier string) core.Outcome {
	if a.Said == "" || a.Why != "" && earlier == "" {
		return c.notSent(a.Why, earlier)
	}
	return failed(a.Said + c.before(earlier))
}

// unknown is the outcome of a call that was sent and whose effect is unknown. If the call may be
// repeated, the model sees that and can call again. If not, a person is asked, as after a crash.
// After the last retry, the outcome covers the earlier attempts, too.
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

// answered is the outcome of an answer. A success settles all attempts, a failure only the last
// one.
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

// before is the note that follows a failure if an earlier attempt may have taken effect.
func (c Call) before(earlier string) string {
	if earlier == "" || c.ReadOnly {
		return ""
	}
	return " " + c.Words.Before + ", and " + earlier + ": the call may or may not have taken effect."
}

// Finish prepares an outcome that does not come from [Call.Run] to be stored and shown: its texts
// contain no value of [Call.Hidden] and are valid UTF-8, and the failure of a repeat says that the
// crashed process may have had an effect.
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
		out.Text += " This is the result of the repeat only: the process that made the call before crashed, and may have " + c.Words.Crashed + "." + openEffect
	}
	return out
}
