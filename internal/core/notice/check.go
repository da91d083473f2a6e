package notice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// Limits on the number of targets and addresses, and on the bytes of a URL and a template.
const (
	MostAgentTargets = 10
	MostRunTargets   = 5
	MostAddresses    = 10 // of mail

	longestURL      = 2048
	longestTemplate = 8 << 10
)

// FieldError is a mistake in one member of a target. Field is the member's JSON name, such as url,
// or notify[1].url for a target in a list. Problem says what is wrong and what to do. It never
// quotes text that could be a secret.
type FieldError struct{ Field, Problem string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// CheckTargets checks a list of targets that doesn't come from an agent file. field is the name of
// the list's member. The error is a [*FieldError].
func CheckTargets(field string, targets []Target, most int) error {
	if len(targets) > most {
		return &FieldError{field, fmt.Sprintf("%d targets are too many; name at most %d", len(targets), most)}
	}
	for i, t := range targets {
		err := t.CheckOutside()
		if err == nil && slices.ContainsFunc(targets[:i], func(o Target) bool { return o.Name == t.Name }) {
			err = &FieldError{"name", fmt.Sprintf("%q is used twice; rename one", t.Name)}
		}
		if err != nil {
			e := err.(*FieldError)
			return &FieldError{fmt.Sprintf("%s[%d].%s", field, i, e.Field), e.Problem}
		}
	}
	return nil
}

// Check returns the first mistake in a target as a [*FieldError], or nil. It doesn't check whether
// addresses and secrets exist.
func (t Target) Check() error {
	for _, check := range []struct {
		field   string
		problem func() string
	}{{"name", t.wrongName}, {"on", t.wrongOn}, {"url", t.wrongURL}, {"mail", t.wrongMail}, {"slack", t.wrongSlack}, {"format", t.wrongFormat},
		{"template", t.wrongTemplate}, {"secret", t.wrongSecret}, {"require", t.wrongRequire}} {
		if problem := check.problem(); problem != "" {
			return &FieldError{check.field, problem}
		}
	}
	return nil
}

// CheckOutside is [Target.Check] for a target that doesn't come from an agent file. It refuses
// secrets in the URL and the template. Otherwise a caller who may add a target could have any
// secret of the server sent to an address of their choice.
func (t Target) CheckOutside() error {
	if err := t.Check(); err != nil {
		return err
	}
	for _, field := range []string{"url", "template"} {
		if len(t.placeholdersIn(field)) > 0 {
			return &FieldError{field, "only an agent file can put a secret there; write it without {secret:NAME}"}
		}
	}
	return nil
}

// placeholder matches a secret in the URL or the template of a target.
var placeholder = lazyregexp.New(`\{secret:([A-Z][A-Z0-9_]*)\}`)

// Placeholders returns the names of the secrets in the URL and the template, each once. Senders
// fill in only these secrets.
func (t Target) Placeholders() []string {
	names := t.placeholdersIn("url")
	for _, name := range t.placeholdersIn("template") {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// SecretsBy returns all names of secrets in the target, each with the member that contains it.
func (t Target) SecretsBy() (names []NamedBy) {
	if t.Secret != "" {
		names = append(names, NamedBy{"secret", t.Secret})
	}
	for _, field := range []string{"url", "template"} {
		for _, name := range t.placeholdersIn(field) {
			names = append(names, NamedBy{field, name})
		}
	}
	return names
}

// NamedBy is the name of a secret, and the member of a target that contains it.
type NamedBy struct{ Field, Name string }

// placeholdersIn returns the names of the secrets in a member. It decodes the template's JSON
// first, as senders do, because JSON can write a brace as \u007b.
func (t Target) placeholdersIn(field string) (names []string) {
	texts := []string{t.URL}
	if field == "template" {
		texts = textsIn(t.Template)
	}
	for _, text := range texts {
		for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(names, found[1]) {
				names = append(names, found[1])
			}
		}
	}
	return names
}

// textsIn returns the strings and member names in a JSON value, up to the first syntax error.
func textsIn(raw json.RawMessage) (texts []string) {
	d := json.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := d.Token()
		if err != nil {
			return texts
		}
		if text, is := token.(string); is {
			texts = append(texts, text)
		}
	}
}

// FilledURL returns the URL with the values of its secrets filled in. It returns false if the
// result isn't a valid URL, or if a value would change the scheme or the host.
func (t Target) FilledURL(values map[string]string) (*url.URL, bool) {
	plain, err := url.Parse(placeholder.ReplaceAllString(t.URL, "x"))
	if err != nil {
		return nil, false
	}
	u, err := url.Parse(placeholder.ReplaceAllStringFunc(t.URL, func(p string) string { return values[placeholder.FindStringSubmatch(p)[1]] }))
	if err != nil || u.Scheme != plain.Scheme || u.Host != plain.Host || u.User != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return nil, false
	}
	u.Fragment = ""
	return u, true
}

var (
	targetName  = lazyregexp.New(TargetName)
	secretName  = lazyregexp.New(SecretName)
	mailAddress = lazyregexp.New(MailAddress)
)

// Regular expressions for the texts of a target.
const (
	TargetName  = `^[a-z0-9][a-z0-9_-]{0,31}$`
	SecretName  = `^[A-Z][A-Z0-9_]{0,127}$`
	MailAddress = `^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?$`
)

// IsMail says whether a text is one mail address, and nothing else.
func IsMail(text string) bool { return mailAddress.MatchString(text) && !strings.Contains(text, "..") }

func (t Target) wrongName() string {
	switch {
	case t.Name == "":
		return "missing; give the target a name"
	case !targetName.MatchString(t.Name):
		return fmt.Sprintf("%q is not a valid name; use a-z, 0-9, - and _, at most 32, beginning with a letter or digit", t.Name)
	}
	return ""
}

func (t Target) wrongOn() string {
	if len(t.On) == 0 {
		return "missing; name at least one of " + list(Kinds)
	}
	for i, kind := range t.On {
		switch {
		case !slices.Contains(Kinds, kind):
			return fmt.Sprintf("cannot be %q; it is one of %s", kind, list(Kinds))
		case slices.Contains(t.On[:i], kind):
			return fmt.Sprintf("%q is given twice; keep one", kind)
		}
	}
	return ""
}

func (t Target) wrongURL() string {
	switch {
	case t.Slack != nil && (t.URL != "" || len(t.Mail) > 0):
		return "slack is set together with url or mail; use a target for each"
	case t.URL == "" && len(t.Mail) == 0 && t.Slack == nil:
		return "missing; set url or mail"
	case t.URL == "":
		return ""
	case len(t.Mail) > 0:
		return "url and mail are both set; use a target for each"
	}
	plain := placeholder.ReplaceAllString(t.URL, "x")
	u, err := url.Parse(plain)
	switch {
	case strings.ContainsAny(plain, "{}"):
		return "has a brace that belongs to no secret; write {secret:NAME} with A-Z, 0-9 and _, or percent-encode the brace"
	case strings.ContainsAny(authority(t.URL), "{}"):
		return "can have a secret only behind the host"
	case len(t.URL) > longestURL:
		return fmt.Sprintf("%d bytes are too long; use at most %d", len(t.URL), longestURL)
	case err != nil || u.Opaque != "" || u.Hostname() == "" || strings.HasSuffix(u.Host, ":") || strings.ContainsFunc(t.URL, unprintable):
		return "not an absolute URL in plain ASCII; write it as in https://hooks.example.com/dormouse"
	case u.Scheme != "https" && u.Scheme != "http":
		return "must begin with https://"
	case u.Scheme == "http" && !t.AllowPrivate:
		return "http is not encrypted; use https, or allow_private for a service on a private address"
	case u.User != nil:
		return "holds a user name or password; remove them"
	case strings.Contains(t.URL, "#"):
		return "a service never receives what follows #; remove it"
	}
	return ""
}

// authority returns the part of a URL between :// and the path, query or fragment.
func authority(text string) string {
	_, behind, _ := strings.Cut(text, "://")
	if i := strings.IndexAny(behind, "/?#"); i >= 0 {
		behind = behind[:i]
	}
	return behind
}

// unprintable reports whether a URL must percent-encode a character.
func unprintable(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }

func (t Target) wrongMail() string {
	if len(t.Mail) > MostAddresses {
		return fmt.Sprintf("%d addresses are too many; name at most %d", len(t.Mail), MostAddresses)
	}
	for i, address := range t.Mail {
		switch {
		case !IsMail(address):
			return fmt.Sprintf("%q is not a mail address; write it as in ops@example.com", address)
		case slices.Contains(t.Mail[:i], address):
			return fmt.Sprintf("%q is given twice; keep one", address)
		case t.AllowPrivate:
			return "allow_private belongs to a url; remove it"
		}
	}
	return ""
}

func (t Target) wrongFormat() string {
	switch {
	case t.Format == "":
	case t.URL == "":
		return "belongs to a url; remove it"
	case !slices.Contains(Formats, t.Format):
		return fmt.Sprintf("cannot be %q; it is one of %s", t.Format, list(Formats))
	}
	return ""
}

func (t Target) wrongTemplate() string {
	given := !core.IsNull(t.Template)
	switch {
	case given != (t.Format == FormatTemplate):
		if given {
			return "belongs to format template; set that format, or remove the template"
		}
		return "missing; format template needs the JSON that is sent"
	case len(t.Template) > longestTemplate:
		return fmt.Sprintf("%d bytes are too long; use at most %d", len(t.Template), longestTemplate)
	case given && !json.Valid(t.Template):
		return "not valid JSON"
	case given:
		if err := strict.Check(t.Template); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (t Target) wrongSecret() string {
	signed := t.URL != "" && (t.Format == "" || t.Format == FormatStandard)
	switch {
	case t.Secret == "" && signed:
		return "missing; format standard needs the name of the secret that signs"
	case t.Secret == "":
	case t.URL == "":
		return "belongs to a url; remove it"
	case !secretName.MatchString(t.Secret): // it may be a key
		return "must be the name of a secret, not the secret itself; use A-Z, 0-9 and _, beginning with a letter"
	case strings.HasPrefix(t.Secret, "DORMOUSE_SECRET_"):
		return "names the environment variable; write it without DORMOUSE_SECRET_"
	}
	return ""
}

func (t Target) wrongRequire() string {
	switch {
	case t.Require == "":
	case t.Require != RequireCode:
		return fmt.Sprintf("cannot be %q; write code, or remove it", t.Require)
	case len(t.Mail) == 0:
		return "belongs to mail, because codes are sent by mail; remove it"
	case len(t.Mail) > 1:
		return "needs one address, because a code is for one person; use a target for each"
	}
	return ""
}

func list[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}
