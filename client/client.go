package client

import (
	"net/http"
	"net/url"
	"strings"
)

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	config
	base string
	user *url.Userinfo // of the address; kept out of base, which errors repeat
	http *http.Client  // config.http with its transports, signer and redirect rules
}

// New returns a client for the server at baseURL, such as "https://dormouse.example.com". It sends
// nothing: the first request reports an address that is wrong.
//
// A name and password in baseURL are sent as basic authorization unless a token or a signer is
// set. Credentials go only to the server in baseURL, never to a server it redirects to, and errors
// don't repeat them.
func New(baseURL string, opts ...Option) *Client {
	c := &Client{config: defaults()}
	if u, err := url.Parse(baseURL); err == nil && u.User != nil {
		c.user, u.User = u.User, nil
		baseURL = u.String()
	}
	c.base = strings.TrimSuffix(baseURL, "/")
	return c.With(opts...)
}

// With returns a copy of the client with further options.
func (c *Client) With(opts ...Option) *Client {
	other := *c
	for _, opt := range opts {
		opt(&other.config)
	}
	other.http = other.network(other.base)
	return &other
}

// BaseURL returns the address of the server, without a name and password.
func (c *Client) BaseURL() string { return c.base }
