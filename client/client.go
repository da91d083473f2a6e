package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	config
	base  string
	wrong error         // why base can't be used; nil if it can
	user  *url.Userinfo // of the address; kept out of base, which errors repeat
	http  *http.Client  // config.http with its transports, signer and redirect rules
}

// New returns a client for the server at baseURL, such as "https://dormouse.example.com". It sends
// nothing: the first request reports an address that is wrong.
//
// A name and password in baseURL are sent as basic authorization unless a token or a signer is
// set. Credentials go only to the server in baseURL, never to a server it redirects to, and errors
// don't repeat them.
func New(baseURL string, opts ...Option) *Client {
	c := &Client{config: defaults()}
	c.base, c.user, c.wrong = readBase(baseURL)
	return c.With(opts...)
}

// readBase takes the name and password out of the address of a server. An address that can't be
// parsed is dropped: it may contain a password, and so may the error of [url.Parse].
func readBase(baseURL string) (base string, user *url.Userinfo, wrong error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", nil, errors.New("client: the base URL can't be parsed; percent-encode special characters in its name and password")
	}
	user, u.User = u.User, nil
	base = strings.TrimRight(u.String(), "/")
	switch {
	case u.Scheme == "" || u.Host == "":
		wrong = fmt.Errorf("client: the base URL %q has no scheme or no host; write it like https://dormouse.example.com", base)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
		wrong = fmt.Errorf("client: the base URL %s has a query or a fragment; leave it out", u)
	}
	return base, user, wrong
}

// With returns a copy of the client with further options.
func (c *Client) With(opts ...Option) *Client {
	other := *c
	for _, opt := range opts {
		if opt != nil {
			opt(&other.config)
		}
	}
	other.http = other.network(other.base)
	return &other
}

// BaseURL returns the address of the server, without a name and password.
func (c *Client) BaseURL() string { return c.base }
