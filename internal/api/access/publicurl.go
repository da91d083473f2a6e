package access

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"
)

// PublicURL is the address under which people reach a server: http or https, a host, and perhaps a
// path below which a proxy has it. The zero value is none.
type PublicURL struct {
	text, scheme, host, prefix string
}

// ParsePublicURL reads an address; "" is none. The error repeats no password.
func ParsePublicURL(text string) (PublicURL, error) {
	if text == "" {
		return PublicURL{}, nil
	}
	u, err := url.Parse(text)
	switch {
	case strings.ContainsAny(text, "?#"):
		return PublicURL{}, errors.New("the address has a query or a fragment; remove what begins with ? or #, as in https://desk.example.com/dormouse")
	case strings.Contains(text, ";"):
		return PublicURL{}, errors.New("the address has a semicolon, which cookies can't have in their path; remove it, as in https://desk.example.com/dormouse")
	case strings.Contains(text, "@"):
		return PublicURL{}, errors.New("the address has a user name or password, which every link would contain; remove it, as in https://desk.example.com/dormouse")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsFunc(u.Host, noHost):
		return PublicURL{}, fmt.Errorf("%q is not a URL; write it as https://desk.example.com, followed by the server's path if it has one", text)
	}
	prefix := strings.TrimRight(u.EscapedPath(), "/")
	if prefix != "" && path.Clean(prefix) != prefix {
		return PublicURL{}, fmt.Errorf("the path %s has empty or dotted segments; write it as /dormouse", prefix)
	}
	return PublicURL{text: u.Scheme + "://" + u.Host + prefix, scheme: u.Scheme, host: u.Host, prefix: prefix}, nil
}

// noHost says of a character that no host has it, with its port or without.
func noHost(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(".-_:[]", c)
}

func (p PublicURL) String() string { return p.text }

// To is where a path of the server is for people: the whole address, or the path alone if p is
// none.
func (p PublicURL) To(serverPath string) string { return p.text + serverPath }

// Secure says whether people reach the server by HTTPS.
func (p PublicURL) Secure() bool { return p.scheme == "https" }

// Host is the name of the host, without its port; "" of none.
func (p PublicURL) Host() string { return (&url.URL{Host: p.host}).Hostname() }

// Prefix is the path below which people find the server, as it is escaped in the address; "" if it
// is at the root.
func (p PublicURL) Prefix() string { return p.prefix }

// Origin is the site, as browsers name it: the scheme and the host, in small letters and without
// the scheme's own port. "" of none.
func (p PublicURL) Origin() string {
	if p.text == "" {
		return ""
	}
	host := strings.TrimSuffix(p.host, map[string]string{"http": ":80", "https": ":443"}[p.scheme])
	return p.scheme + "://" + strings.ToLower(host)
}
