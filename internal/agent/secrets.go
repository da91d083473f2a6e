package agent

import (
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// Secrets are the names of the secrets that the definition needs for its model, its tools, its
// servers and its notices, each once.
func (d Definition) Secrets() []string {
	names := d.Model.Secrets()
	for _, t := range d.Tools {
		for _, name := range t.secrets() {
			names = AddName(names, name)
		}
	}
	for _, server := range slices.Sorted(maps.Keys(d.Servers)) {
		for _, name := range SecretsIn(d.Servers[server].Headers) {
			names = AddName(names, name)
		}
	}
	for _, t := range d.Notify {
		for _, name := range append(t.Placeholders(), t.Secret) {
			names = AddName(names, name)
		}
		if t.Slack != nil {
			names = AddName(names, t.Slack.Token)
		}
	}
	return names
}

// secrets are the names of the secrets in the tool itself. Those of its server are the server's.
func (t Tool) secrets() []string {
	switch {
	case t.HTTP != nil:
		return t.HTTP.Secrets()
	case t.Agent != nil && t.Agent.A2A != nil:
		return SecretsIn(t.Agent.A2A.Headers)
	}
	return nil
}

// Secrets are the names of the secrets that the model needs, each once.
func (m Model) Secrets() []string {
	names := AddName(nil, m.APIKey)
	for _, name := range SecretsIn(m.Headers) {
		names = AddName(names, name)
	}
	return names
}

// SecretsIn returns the names of the secrets in headers. A stored value that can't be parsed has
// none; the adapter that sends it reports the error.
func SecretsIn(headers map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value, _ := placeholder.Read(headers[name])
		for _, secret := range value.Secrets() {
			names = AddName(names, secret)
		}
	}
	return names
}
