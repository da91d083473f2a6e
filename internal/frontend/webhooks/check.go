package webhooks

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

const (
	mostAgents = 50
	mostReason = 500 // bytes
)

// check refuses a webhook that could never receive anything, or that uses secrets of other tenants.
// It doesn't resolve host names: each delivery does, and checks the addresses.
func check(w notice.Webhook) error {
	t := w.Target
	t.Name = cmp.Or(t.Name, "unnamed") // webhooks need no name
	if err := t.Check(); err != nil {
		return invalid(err)
	}
	for _, err := range []error{checkAgents(w.Agents), checkHost(t), checkTemplate(t), checkSecrets(w.Tenant, t)} {
		if err != nil {
			return err
		}
	}
	return nil
}

func invalid(err error) error {
	if e, ok := errors.AsType[*notice.FieldError](err); ok {
		return refusal.New(refusal.CodeInvalid, "%s: %s", e.Field, e.Problem)
	}
	return err
}

func checkAgents(agents []string) error {
	if len(agents) > mostAgents {
		return refusal.New(refusal.CodeInvalid, "agents: %d are too many; name at most %d, or leave agents out for all", len(agents), mostAgents)
	}
	for i, name := range agents {
		switch {
		case name == "" || len(name) > mostID:
			return refusal.New(refusal.CodeInvalid, "agents: a name must have 1 to %d bytes", mostID)
		case slices.Contains(agents[:i], name):
			return refusal.New(refusal.CodeInvalid, "agents: %q is given twice; keep one", name)
		}
	}
	return nil
}

// checkHost refuses addresses that are never allowed, if the URL contains the address itself.
func checkHost(t notice.Target) error {
	if t.URL == "" {
		return nil
	}
	u, err := url.Parse(t.URL)
	if err != nil {
		return refusal.New(refusal.CodeInvalid, "url: not an absolute URL")
	}
	host := netguard.CanonicalHost(u.Hostname())
	address, err := netip.ParseAddr(host)
	switch {
	case strings.ContainsAny(u.Host, "{}"):
		return refusal.New(refusal.CodeInvalid, "url: a secret can't be part of the host; write the host out")
	case netguard.Numeric(u.Host):
		return refusal.New(refusal.CodeInvalid, "url: the host is an address in an unusual form; write it as in 93.184.216.34")
	case err == nil && netguard.Metadata(address):
		return refusal.New(refusal.CodeInvalid, "url: the address belongs to a metadata service or a link; use another one")
	case netguard.Inside(u.Host) && !t.AllowPrivate:
		return refusal.New(refusal.CodeInvalid, "url: the host is this machine or a private address; use a public one, or set allow_private if the operator allows the address")
	}
	return nil
}

// checkTemplate refuses a template whose placeholders are invalid.
func checkTemplate(t notice.Target) error {
	if len(t.Template) == 0 {
		return nil
	}
	if err := placeholder.Check(t.Template); err != nil {
		return refusal.New(refusal.CodeInvalid, "template: %v", err)
	}
	return nil
}

// checkSecrets refuses secrets of agents and of other tenants. With such a secret, a caller could
// sign as another tenant, or have the secret sent to an address of their choice.
func checkSecrets(tenant string, t notice.Target) error {
	prefix := secretPrefix(tenant)
	for _, named := range t.SecretsBy() {
		rest, ours := strings.CutPrefix(named.Name, prefix)
		if !ours || rest == "" || tenant == access.Tenant && strings.Contains(rest, "__") {
			return refusal.New(refusal.CodeInvalid, "%s: the names of secrets for webhooks of this tenant begin with %s and hold no further __; "+
				"ask the operator for one", named.Field, prefix)
		}
	}
	return nil
}

// secretPrefix returns the beginning of the names of a tenant's secrets. It is unique, and no
// prefix of another tenant begins with it:
//
//	default: WEBHOOK_PAGER    acme: WEBHOOK_ACME__PAGER    team-a: WEBHOOK_TEAM_DA__PAGER
func secretPrefix(tenant string) string {
	if tenant == access.Tenant {
		return "WEBHOOK_"
	}
	return "WEBHOOK_" + strings.NewReplacer("-", "_D", "_", "_U").Replace(strings.ToUpper(tenant)) + "__"
}
