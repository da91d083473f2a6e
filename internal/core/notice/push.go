package notice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// Push is an endpoint that a client of A2A has added to a task. It holds secrets: nothing but a
// store and a sender sees them.
type Push struct {
	ID    string `json:"id"`
	URL   string `json:"u"`
	Token string `json:"tk,omitempty"` // sent along, so that the receiver knows what it is for

	// of the header Authorization; an empty scheme sends none
	Scheme      string `json:"as,omitempty"`
	Credentials string `json:"ac,omitempty"`

	Context      string `json:"cx,omitempty"` // of the task, as its client calls it
	AllowPrivate bool   `json:"ap,omitempty"`
	By           string `json:"by,omitempty"`
}

// Limits on the endpoints of one task, and on the bytes of their texts.
const (
	MostPushes = 8

	longestToken       = 1024
	longestScheme      = 32
	longestCredentials = 4096
)

var (
	pushID      = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)
	headerText  = lazyregexp.New(`^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$`)
	headerToken = lazyregexp.New("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
)

// Check returns the first mistake as a [*FieldError], or nil. It quotes nothing that could be a
// secret. What goes into headers is one line of ASCII.
func (p Push) Check() error {
	is := func(field, problem string) error { return &FieldError{field, problem} }
	switch {
	case !pushID.MatchString(p.ID):
		return is("id", "use a-z, A-Z, 0-9, dots, - and _, at most 64, or omit it")
	case len(p.Token) > longestToken || p.Token != "" && !headerText.MatchString(p.Token):
		return is("token", fmt.Sprintf("use printable ASCII, at most %d bytes", longestToken))
	case p.Scheme == "" && p.Credentials != "":
		return is("authentication.scheme", "missing; write the scheme that the credentials are for, such as Bearer")
	case len(p.Scheme) > longestScheme || p.Scheme != "" && !headerToken.MatchString(p.Scheme):
		return is("authentication.scheme", "not the name of a scheme, such as Bearer")
	case len(p.Credentials) > longestCredentials || p.Credentials != "" && !headerText.MatchString(p.Credentials):
		return is("authentication.credentials", fmt.Sprintf("use printable ASCII, at most %d bytes", longestCredentials))
	}
	if problem := p.Target().wrongURL(); problem != "" {
		return is("url", problem)
	}
	if len(p.Target().placeholdersIn("url")) > 0 {
		return is("url", "only an agent file can put a secret there; write it without {secret:NAME}")
	}
	return nil
}

// Target is the endpoint as the target of notices.
func (p Push) Target() Target {
	return Target{Name: p.ID, URL: p.URL, Format: FormatA2A, AllowPrivate: p.AllowPrivate, Push: &p}
}

// Authorization is the value of that header; empty for none.
func (p Push) Authorization() string { return strings.TrimSpace(p.Scheme + " " + p.Credentials) }

// Pushes are the endpoints of one task.
type Pushes struct {
	Tenant string `json:"-"`
	Group  string `json:"-"` // the start of the run names it, and the runs below inherit that
	Rev    int64  `json:"-"` // 1 for the first; each change raises it by one
	At     int64  `json:"t"` // of the last change
	All    []Push `json:"p,omitempty"`
}

// Gone is when a store may forget them. A call may wait that long.
func (p Pushes) Gone() int64 { return p.At + keptPosted }

// Find returns the endpoint with an id.
func (p Pushes) Find(id string) (Push, bool) {
	i := slices.IndexFunc(p.All, func(o Push) bool { return o.ID == id })
	if i < 0 {
		return Push{}, false
	}
	return p.All[i], true
}

// With returns the next revision, with one more endpoint, or with another in the place of the one
// that has its id.
func (p Pushes) With(one Push, at int64) Pushes {
	next := p.Without(one.ID, at)
	next.All = append(next.All, one)
	return next
}

// Without returns the next revision, without the endpoint that has the id.
func (p Pushes) Without(id string, at int64) Pushes {
	p.Rev, p.At = p.Rev+1, at
	p.All = slices.DeleteFunc(slices.Clone(p.All), func(o Push) bool { return o.ID == id })
	return p
}

// Subscriptions are what the endpoints are notified of: that the run, or one below it, asks, and
// that the run ends.
func (p Pushes) Subscriptions(below bool) (all []Subscription) {
	on := Set{Suspended, Done}
	if below {
		on = on.WithoutEnds()
	}
	for _, one := range p.All {
		all = append(all, Subscription{Endpoint: PushEndpoint(p.Group, one.ID), On: on})
	}
	return all
}

// NewsKey is the inbox key of news of who is notified of a run. The owner reads that after each.
func NewsKey(id string) string { return core.KeyNews + ":" + id }

// HasNews says whether others than before may be notified of a run, unknown to its owner.
func HasNews(h core.Head) bool {
	for _, s := range h.Inbox {
		if s.Kind == core.SignalNews {
			return true
		}
	}
	return false
}

// PushGroup is the group that the targets of a start name; "" if they name none.
func PushGroup(targets []Target) string {
	for _, t := range targets {
		if t.Format == FormatA2A {
			return t.Name
		}
	}
	return ""
}
