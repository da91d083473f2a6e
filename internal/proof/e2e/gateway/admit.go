package gateway

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

// Keys are the public keys of token issuers, by issuer and key id.
type Keys map[string]map[string]*rsa.PublicKey

// errForbidden is a caller who is known and may not.
var errForbidden = errors.New("forbidden")

// authorize returns the authorizer's part of the event; nil for a route without one.
func (a *API) authorize(r *http.Request, route stack.Route, body []byte) (map[string]any, error) {
	switch route.Authorizer {
	case "":
		return nil, nil
	case stack.IAM:
		return a.Callers.authorize(r, body, a.Region, a.Account, a.Now())
	}
	claims, err := a.token(r.Header.Get("Authorization"), a.Stack.API.Authorizers[route.Authorizer])
	if err != nil {
		return nil, err
	}
	return map[string]any{"jwt": map[string]any{"claims": claims, "scopes": nil}}, nil
}

// unauthorized answers as the authorizer does: a JWT that is missing or wrong is 401, a signature
// that is 403.
func (a *API) unauthorized(w http.ResponseWriter, route stack.Route, err error) {
	if route.Authorizer == stack.IAM || errors.Is(err, errForbidden) {
		refuse(w, http.StatusForbidden, "Forbidden")
		return
	}
	w.Header().Set("Www-Authenticate", "Bearer")
	refuse(w, http.StatusUnauthorized, "Unauthorized")
}

// token checks a JWT and returns its claims as text, as API Gateway passes them on.
func (a *API) token(header string, by stack.Authorizer) (map[string]string, error) {
	token := strings.TrimSpace(header)
	if len(token) > 7 && strings.EqualFold(token[:7], "bearer ") {
		token = strings.TrimSpace(token[7:])
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("there is no token")
	}
	var head struct{ Alg, Kid string }
	var claims map[string]any
	if err := errors.Join(part(parts[0], &head), part(parts[1], &claims)); err != nil {
		return nil, fmt.Errorf("the token: %w", err)
	}
	if err := a.signed(parts, head.Alg, head.Kid, by.Issuer); err != nil {
		return nil, err
	}
	if err := a.good(claims, by); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, value := range claims {
		out[name] = claimText(value)
	}
	return out, nil
}

func part(text string, v any) error {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	return d.Decode(v)
}

func (a *API) signed(parts []string, algorithm, id, issuer string) error {
	key, known := a.Keys[issuer][id]
	if algorithm != "RS256" || !known {
		return fmt.Errorf("the token is signed by %s with %q, which the issuer does not have", algorithm, id)
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature)
}

// good checks what API Gateway checks of the claims.
func (a *API) good(claims map[string]any, by stack.Authorizer) error {
	now := a.Now().Unix()
	audience, isText := claims["aud"].(string)
	audiences := []string{audience}
	if list, isList := claims["aud"].([]any); isList {
		audiences = nil
		for _, one := range list {
			audiences = append(audiences, fmt.Sprint(one))
		}
	} else if !isText {
		audiences = []string{fmt.Sprint(claims["client_id"])}
	}
	switch {
	case claims["iss"] != by.Issuer:
		return fmt.Errorf("the token is of %v", claims["iss"])
	case !slices.ContainsFunc(audiences, func(one string) bool { return slices.Contains(by.Audience, one) }):
		return fmt.Errorf("the token is for %v", audiences)
	case claims["exp"] == nil || seconds(claims["exp"]) <= now:
		return errors.New("the token is too old")
	case claims["nbf"] != nil && seconds(claims["nbf"]) > now, claims["iat"] != nil && seconds(claims["iat"]) > now:
		return errors.New("the token is not good yet")
	}
	return nil
}

func seconds(v any) int64 {
	n, isNumber := v.(json.Number)
	whole, err := n.Int64()
	if !isNumber || err != nil {
		return 0
	}
	return whole
}

// claimText is how API Gateway writes a claim: a list in brackets, its elements with spaces between
// them.
func claimText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case []any:
		var parts []string
		for _, one := range v {
			parts = append(parts, claimText(one))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case map[string]any:
		raw, _ := json.Marshal(v) // it came out of JSON
		return string(raw)
	}
	return fmt.Sprint(v)
}
