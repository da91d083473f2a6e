// Package oidcdouble is an OpenID Connect provider for tests. It checks what a provider checks: the
// client and its secret, the redirect address, that a code is used once and that its verifier fits.
package oidcdouble

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"
)

// What the provider knows of its client.
const (
	ClientID = "dormouse"
	Secret   = "client-secret"
)

// Provider signs everyone in as its Account, without asking.
type Provider struct {
	*httptest.Server
	Now func() time.Time

	mu       sync.Mutex
	key      *rsa.PrivateKey
	account  map[string]any
	codes    map[string]grant
	redirect string // registered
	count    int
	change   func(claims map[string]any)
	info     map[string]any // of UserInfo; nil: there is none
	forge    func(claims map[string]any) string
	down     bool
}

type grant struct{ redirect, challenge, nonce string }

// signingKey is made once: it takes longer than the rest of most tests.
var signingKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// New starts a provider, which its caller closes. redirect is the address that the client
// registered.
func New(redirect string) (*Provider, error) {
	key, err := signingKey()
	if err != nil {
		return nil, err
	}
	p := &Provider{Now: time.Now, key: key, codes: map[string]grant{}, redirect: redirect}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return p, nil
}

// SignInAs sets who signs in from now on, by claims such as sub and email.
func (p *Provider) SignInAs(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account = claims
}

// Change makes the provider change the claims of each token before it signs them; nil: no more.
func (p *Provider) Change(change func(claims map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change = change
}

// Forge makes the provider hand out what forge returns in place of each token; nil: no more.
func (p *Provider) Forge(forge func(claims map[string]any) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forge = forge
}

// Inform makes the provider have a UserInfo with these claims, beside those of its tokens. Call it
// first: clients read once what a provider has.
func (p *Provider) Inform(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.info = claims
}

// Down makes the provider answer nothing but 503, or work again.
func (p *Provider) Down(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	about := map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}}
	if p.info != nil {
		about["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	write(w, http.StatusOK, about)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "k1",
		"n": encode(p.key.N.Bytes()), "e": encode(big.NewInt(int64(p.key.E)).Bytes())}}})
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("redirect_uri") != p.redirect || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
		http.Error(w, "this is no request of a client", http.StatusBadRequest)
		return
	}
	p.count++
	code := fmt.Sprintf("code-%d", p.count)
	p.codes[code] = grant{q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("nonce")}
	http.Redirect(w, r, p.redirect+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusSeeOther)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || secret != Secret {
		write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	g, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || r.PostFormValue("redirect_uri") != g.redirect || encode(sum[:]) != g.challenge {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "nonce": g.nonce, "iat": p.Now().Unix(), "exp": p.Now().Add(time.Hour).Unix()}
	for name, value := range p.account {
		claims[name] = value
	}
	if p.change != nil {
		p.change(claims)
	}
	sign := p.sign
	if p.forge != nil {
		sign = p.forge
	}
	write(w, http.StatusOK, map[string]any{"access_token": accessToken, "token_type": "Bearer", "expires_in": 3600, "id_token": sign(claims)})
}

const accessToken = "access-token"

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+accessToken {
		write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_token"})
		return
	}
	write(w, http.StatusOK, p.info)
}

// Unsigned is the text of a token that a signature by alg follows.
func Unsigned(alg string, claims map[string]any) string {
	head, _ := json.Marshal(map[string]string{"alg": alg, "kid": "k1", "typ": "JWT"})
	body, _ := json.Marshal(claims)
	return encode(head) + "." + encode(body)
}

func (p *Provider) sign(claims map[string]any) string {
	text := Unsigned("RS256", claims)
	sum := sha256.Sum256([]byte(text))
	sig, _ := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	return text + "." + encode(sig)
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
