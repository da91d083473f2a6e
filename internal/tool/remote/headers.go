package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// Headers are the headers that a definition adds to each request to a server, in the order of their
// names. {secret:NAME} in a value is a secret.
type Headers []agent.Field

// connectionHeaders are the headers that the connection, or a protocol with JSON bodies, sets.
var connectionHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Content-Type", "Accept", "Accept-Encoding"}

// ReadHeaders reads the headers of a definition. reserved says which canonical names the protocol
// sets itself. The error says what is wrong with the definition.
func ReadHeaders(texts map[string]string, reserved func(name string) bool) (Headers, error) {
	var h Headers
	for name, text := range texts {
		value, err := placeholder.Read(text)
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case err != nil:
			return nil, err
		case len(value.Arguments()) > 0:
			return nil, fmt.Errorf("the header %s contains {%s}; the headers of a server may contain {secret:NAME}, but no arguments", name, value.Arguments()[0])
		case slices.Contains(connectionHeaders, canonical) || reserved(canonical):
			return nil, fmt.Errorf("the header %s is set by this program; remove it", canonical)
		}
		h = append(h, agent.Field{Name: canonical, Value: value})
	}
	slices.SortFunc(h, func(a, b agent.Field) int { return strings.Compare(a.Name, b.Name) })
	return h, nil
}

// Fill looks up the secrets and puts them into the headers. It is called for each call, because a
// secret may change. Errors are those of [secret.Source.Values].
func (h Headers) Fill(ctx context.Context, secrets secret.Source) (secret.Values, http.Header, error) {
	var names []string
	for _, f := range h {
		names = append(names, f.Value.Secrets()...)
	}
	values, err := secrets.Values(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	headers := http.Header{}
	for _, f := range h {
		var text strings.Builder
		for _, p := range f.Value {
			text.WriteString(p.Text + values[p.Secret])
		}
		headers.Set(f.Name, text.String())
	}
	return values, headers, nil
}
