package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// callbackSecret begins the names of the secrets that a start may name. A caller who may start a
// run decides what its notices say and where they go. With any other key, such a notice could be
// replayed to the receiver that the key is for.
const callbackSecret = "CALLBACK_"

// readNotify reads the targets of a start, as they are stored, and their digest. No targets have
// none. One more names the group of endpoints of a task, if there is one.
func readNotify(asked []wire.NotifyTarget, group string) (digest string, stored json.RawMessage, err error) {
	if len(asked) == 0 && group == "" {
		return "", nil, nil
	}
	targets := make([]notice.Target, len(asked))
	for i, t := range asked {
		targets[i] = notice.Target{Name: t.Name, URL: t.URL, Mail: t.Mail, Format: notice.Format(t.Format), Template: t.Template, Secret: t.Secret}
		if core.IsNull(t.Template) {
			targets[i].Template = nil
		}
		for _, kind := range t.On {
			targets[i].On = append(targets[i].On, notice.Kind(kind))
		}
	}
	if err := checkNotify(targets); err != nil {
		return "", nil, refusal.New(refusal.CodeInvalid, "%v", err)
	}
	if group != "" {
		targets = append(targets, notice.Target{Name: group, Format: notice.FormatA2A})
	}
	canonical, err := core.Canonical(core.Encode(targets))
	if err != nil {
		return "", nil, refusal.New(refusal.CodeInvalid, "notify is not valid JSON")
	}
	return core.Digest(canonical), canonical, nil
}

func checkNotify(targets []notice.Target) error {
	wrong := func(i int, field, problem string) error {
		return &notice.FieldError{Field: fmt.Sprintf("notify[%d].%s", i, field), Problem: problem}
	}
	for i, t := range targets {
		switch {
		case strings.HasPrefix(strings.ToLower(t.URL), "http:"):
			return wrong(i, "url", "http is not encrypted; use https")
		case t.Secret != "" && !strings.HasPrefix(t.Secret, callbackSecret):
			return wrong(i, "secret", "a start can only name a secret that begins with "+callbackSecret+"; ask the operator to set one")
		}
	}
	if err := notice.CheckTargets("notify", targets, notice.MostRunTargets); err != nil {
		return err
	}
	for i, t := range targets {
		switch u, err := url.Parse(t.URL); {
		case err != nil:
		case netguard.Numeric(u.Host):
			return wrong(i, "url", "the host is an address in an unusual form; write it as in 93.184.216.34")
		case netguard.Inside(u.Host):
			return wrong(i, "url", "the host is this machine or a private address; use a public one")
		}
		if len(t.Template) == 0 {
			continue
		}
		if err := placeholder.Check(t.Template); err != nil {
			return wrong(i, "template", err.Error())
		}
	}
	return nil
}

// putTargets stores the targets that a run names before its head refers to them.
func (f *Frontend) putTargets(ctx context.Context, tenant, thread string, b beginning) error {
	if b.targets == nil {
		return nil
	}
	return f.putPayload(ctx, tenant, thread, b.notify, b.targets)
}
