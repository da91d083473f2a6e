package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// access says who is let in.
type access struct {
	tokens [][sha256.Size]byte
	answer func(http.ResponseWriter, *http.Request, error)
}

// loopback demands, where no token does, that the request names a loopback host: a page elsewhere whose name was made to point
// at this machine sends its own name.
func (a access) loopback(next http.Handler) http.Handler {
	if len(a.tokens) > 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			a.answer(w, r, &frontend.Error{Code: codeForbidden, Detail: "without tokens, only loopback host names are served"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// sameOrigin refuses what a browser sends here from another site's page, except reads.
func (a access) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, r, &frontend.Error{Code: codeForbidden, Detail: "requests from other sites are refused"})
	}))
	return protection.Handler(next)
}

type byKey struct{}

// token demands a bearer token where there are any; health needs none.
func (a access) token(next http.Handler) http.Handler {
	if len(a.tokens) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by, ok := a.known(r.Header.Get("Authorization"))
		if !ok && r.URL.Path != "/healthz" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			a.answer(w, r, &frontend.Error{Code: codeUnauthorized, Detail: "a bearer token is needed"})
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), byKey{}, by)))
	})
}

// known compares with every token, in a time that does not tell which one was nearest. The name it returns is safe to keep.
func (a access) known(authorization string) (by string, ok bool) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := 0
	for _, t := range a.tokens {
		found |= subtle.ConstantTimeCompare(sum[:], t[:])
	}
	return "token:" + hex.EncodeToString(sum[:4]), found == 1
}

func caller(r *http.Request) frontend.Caller {
	by, _ := r.Context().Value(byKey{}).(string)
	return frontend.Caller{Tenant: Tenant, By: by}
}
