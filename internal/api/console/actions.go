package console

import (
	"net/http"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// What a person can do to a run beside answering it.
const (
	actEnd   = "end"
	actPause = "pause"
	actAgain = "again"
)

// actsOn are the actions that make sense for a run as it is, for this person.
func actsOn(run wire.Run, who access.Principal) (acts []string) {
	done := run.Status == core.RunDone.String()
	if !done && who.May(canStop...) {
		if run.Status != core.RunWaiting.String() {
			acts = append(acts, actPause)
		}
		acts = append(acts, actEnd)
	}
	failed := run.Reason != nil && (slices.Contains([]string{"error", "stopped"}, *run.Reason))
	if done && failed && who.May(access.Start) {
		acts = append(acts, actAgain)
	}
	return acts
}

// act does one of these and shows the run, or the one that was started in its place.
func (c *Console) act(w http.ResponseWriter, l look) error {
	form, err := c.readForm(w, l)
	if err != nil {
		return err
	}
	run := l.PathValue("run")
	switch form.Get("action") {
	case actEnd:
		_, err = c.Acts.Cancel(l.Context(), l.Caller(), run)
	case actPause:
		_, err = c.Acts.Interrupt(l.Context(), l.Caller(), run, form.Get("key"))
	case actAgain:
		if err = l.MayStart(); err != nil {
			break
		}
		started, bad := c.Acts.Retry(l.Context(), l.Caller(), run, form.Get("key"))
		if err = bad; err == nil {
			run = started.Run.ID
		}
	default:
		err = &refusal.Error{Code: refusal.CodeInvalid, Detail: "the form has no known action; open the page again"}
	}
	if err != nil {
		return err
	}
	c.seeOther(w, "/runs/"+run)
	return nil
}
