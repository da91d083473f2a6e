// Package sites refuses requests from web pages of other sites, and answers the preflight requests
// of those that may call.
package sites

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// Sites are the origins whose pages may call from a browser. Pages of other origins cannot read an
// answer (it has no CORS headers), and the API refuses their requests before it does anything.
type Sites struct {
	origins []string
	open    string // the path below which every origin may read
	same    *http.CrossOriginProtection
	deny    http.Handler
}

// New takes for a page of this server's own what comes from the origin own, where that is known: a
// proxy may have changed the host that the request names. Below the path open, every origin may
// read answers. A request that is refused is handed to deny, with the reason.
func New(origins []string, own, open string, deny func(w http.ResponseWriter, r *http.Request, detail string)) (Sites, error) {
	s := Sites{origins: origins, open: open, same: http.NewCrossOriginProtection(), deny: denying(deny)}
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return s, fmt.Errorf("%q is not an origin; write it as https://host or https://host:port, without a path", origin)
		}
		if err := s.same.AddTrustedOrigin(origin); err != nil {
			return s, fmt.Errorf("%q is not an origin: %w", origin, err)
		}
	}
	if own != "" {
		if err := s.same.AddTrustedOrigin(own); err != nil {
			return s, fmt.Errorf("the public address %q is not an origin: %w", own, err)
		}
	}
	s.same.SetDenyHandler(s.deny)
	return s, nil
}

// denying words the refusal. Browsers hide it from the page that asked, so the developer reads it
// in the browser's network tab or in the server's log.
func denying(deny func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from := "other sites"
		if origin := r.Header.Get("Origin"); origin != "" {
			from = strictjson.Clipped(origin)
		}
		deny(w, r, "requests of pages from "+from+" are refused; the operator allows an origin with --cors-origin, on AWS with the parameter Origins")
	}
}

// What a page may send and see beyond what browsers let every page. A gateway that answers
// preflight requests itself must allow the same.
const (
	Methods = "GET, POST, PATCH, DELETE"
	Headers = "A2A-Extensions, A2A-Version, Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Prefer, X-AI-SDK-Version"
	Exposed = "Location, Preference-Applied, Retry-After, WWW-Authenticate, X-Error-Code, X-Workflow-Run-Id"
	maxAge  = "600"

	// A page that was redirected to a stream sends what it sent before: all of it, such as the
	// headers of a signature, without the Authorization that older browsers still add.
	openHeaders = "Authorization, *"
)

// Guard lets next answer what no other site's page sent.
func (s Sites) Guard(next http.Handler) http.Handler {
	next = s.same.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if len(s.origins) > 0 {
			h.Add("Vary", "Origin")
		}
		if origin := s.allowed(r); origin != "" {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", Exposed)
			if isPreflight(r) {
				h.Set("Access-Control-Allow-Methods", Methods)
				h.Set("Access-Control-Allow-Headers", Headers)
				if origin == "*" {
					h.Set("Access-Control-Allow-Headers", openHeaders)
				}
				h.Set("Access-Control-Max-Age", maxAge)
				w.WriteHeader(http.StatusNoContent)
				return
			}
		} else if isPreflight(r) {
			s.deny.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowed is the origin whose pages may read the answer; empty if none. Streams allow every origin,
// also where no site may call: after the redirect to a stream on another site, browsers send the
// origin "null", or that of a page of this server. A ticket is all that a reader needs, and the
// browser sends no cookie with it.
func (s Sites) allowed(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, s.open) {
		return "*"
	}
	if origin := r.Header.Get("Origin"); slices.Contains(s.origins, origin) {
		return origin
	}
	return ""
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && strings.TrimSpace(r.Header.Get("Access-Control-Request-Method")) != ""
}
