package httpapi_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
)

// Each of these has the link, and is not the person who is asked.
func TestAttacksOnSignIn(t *testing.T) {
	for name, tt := range map[string]struct {
		attack func(o office) answer
		status int
	}{
		"no one signs in": {func(o office) answer { return o.answer(o.browser()) }, 401},
		"another account": {func(o office) answer {
			o.provider.SignInAs(eve)
			b := o.browser()
			b.signIn()
			return o.answer(b)
		}, 403},
		"an account that only says it is anna's": {func(o office) answer {
			o.provider.SignInAs(map[string]any{"sub": "u-3", "name": "anna@acme.example", "preferred_username": "anna@acme.example"})
			b := o.browser()
			b.signIn()
			return o.answer(b)
		}, 403},
		"an account with anna's address, which it has not shown to be its own": {func(o office) answer {
			o.provider.SignInAs(map[string]any{"sub": "u-3", "email": "anna@acme.example", "email_verified": false})
			b := o.browser()
			b.signIn()
			return o.answer(b)
		}, 403},
		"an account of a provider that does not say whether it checks addresses": {func(o office) answer {
			o.provider.SignInAs(map[string]any{"sub": "u-3", "email": "anna@acme.example"})
			b := o.browser()
			b.signIn()
			return o.answer(b)
		}, 403},
		"an account without an id": {func(o office) answer {
			o.provider.SignInAs(map[string]any{"email": "anna@acme.example"})
			return o.browser().signIn()
		}, 403},
		"the way back of another browser": {func(o office) answer {
			anna := o.browser()
			return o.browser().open("GET", anna.visit(anna.begin()), "")
		}, 403},
		"the way back with another state": {func(o office) answer {
			b := o.browser()
			back := b.visit(b.begin())
			return b.open("GET", back[:strings.Index(back, "state=")]+"state=x", "")
		}, 403},
		"a code that anna got, given to eve's browser": {func(o office) answer {
			anna, eve := o.browser(), o.browser()
			code := codeOf(o.t, anna.visit(anna.begin()))
			own := eve.visit(eve.begin())
			return eve.open("GET", strings.Replace(own, codeOf(o.t, own), code, 1), "")
		}, 403},
		"a code twice": {func(o office) answer {
			b := o.browser()
			back := b.visit(b.begin())
			b.open("GET", back, "")
			return b.open("GET", back, "")
		}, 403},
		"the provider says no": {func(o office) answer {
			b := o.browser()
			b.begin()
			return b.open("GET", people.SignedInPath+"?error=access_denied&state=x", "")
		}, 403},
		"a token for another client": {func(o office) answer {
			o.provider.Change(func(claims map[string]any) { claims["aud"] = "other" })
			return o.browser().signIn()
		}, 403},
		"a token of another issuer": {func(o office) answer {
			o.provider.Change(func(claims map[string]any) { claims["iss"] = "https://evil.example" })
			return o.browser().signIn()
		}, 403},
		"a token that was issued to another client, and is for both": {func(o office) answer {
			o.provider.Change(func(claims map[string]any) {
				claims["aud"], claims["azp"] = []string{"other", oidcdouble.ClientID}, "other"
			})
			return o.browser().signIn()
		}, 403},
		"a token that is not signed": {func(o office) answer {
			o.provider.Forge(func(claims map[string]any) string { return oidcdouble.Unsigned("none", claims) + "." })
			return o.browser().signIn()
		}, 403},
		"a token that is signed with the client's secret": {func(o office) answer {
			o.provider.Forge(func(claims map[string]any) string {
				text := oidcdouble.Unsigned("HS256", claims)
				mac := hmac.New(sha256.New, []byte(oidcdouble.Secret))
				mac.Write([]byte(text))
				return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
			})
			return o.browser().signIn()
		}, 403},
		"no token": {func(o office) answer {
			o.provider.Forge(func(map[string]any) string { return "" })
			return o.browser().signIn()
		}, 403},
		"a token without the nonce": {func(o office) answer {
			o.provider.Change(func(claims map[string]any) { delete(claims, "nonce") })
			return o.browser().signIn()
		}, 403},
		"the cookie of a sign-in for another link": {func(o office) answer {
			b := o.browser()
			b.signIn()
			cookie := b.cookies["dormouse_signed_in_"+o.id()]
			made := decoded[wire.Link](o.t, o.send("POST", "/v1/runs/"+o.run.ID+"/links", `{"target":"c1","for":"eve","require":"sign_in"}`, bearer("secret")).text)
			b.cookies["dormouse_signed_in_"+made.ID] = cookie
			if cookie == "" || made.ID == "" {
				o.t.Fatalf("%q, %+v", cookie, made)
			}
			other := o
			other.link = strings.TrimPrefix(made.Link, atHome)
			return other.answer(b)
		}, 401},
		"a cookie that is older than ten minutes": {func(o office) answer {
			b := o.browser()
			b.signIn()
			o.later(10 * time.Minute)
			return o.answer(b)
		}, 401},
		"a way back that is older than ten minutes": {func(o office) answer {
			b := o.browser()
			back := b.visit(b.begin())
			o.later(10 * time.Minute)
			return b.open("GET", back, "")
		}, 403},
		"who sits there after anna, who said that she uses another account": {func(o office) answer {
			b := o.browser()
			b.signIn()
			if at, err := url.Parse(b.begin()); err != nil || at.Query().Get("prompt") != "login" {
				o.t.Errorf("sent to %s, %v", at, err)
			}
			return o.answer(b)
		}, 401},
		"a token that has expired": {func(o office) answer {
			o.provider.Change(func(claims map[string]any) { claims["exp"] = 1 })
			return o.browser().signIn()
		}, 403},
		"a token of another sign-in": {func(o office) answer {
			o.provider.Change(func(claims map[string]any) { claims["nonce"] = "other" })
			return o.browser().signIn()
		}, 403},
		"a cookie that was altered": {func(o office) answer {
			b := o.browser()
			b.signIn()
			for name, value := range b.cookies {
				text, mac, _ := strings.Cut(value, ".")
				b.cookies[name] = text + "." + strings.ToUpper(mac[:8]) + strings.ToLower(mac[8:])
			}
			return o.answer(b)
		}, 401},
		"the cookie of a sign-in that was only begun": {func(o office) answer {
			b := o.browser()
			b.begin()
			for _, value := range b.cookies {
				b.cookies["dormouse_signed_in_"+o.id()] = value
			}
			return o.answer(b)
		}, 401},
		"an approver's access token in its place": {func(o office) answer {
			return o.send("POST", o.link, `{"action":"resume"}`, bearer("anna's"))
		}, 401},
		"a page of another site": {func(o office) answer {
			b := o.browser()
			b.signIn()
			return b.open("POST", o.link, fill(o.t, b.open("GET", o.link, "")).Encode(), asForm, header("Origin", "https://evil.example"))
		}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, frontendtest.Call{Approvers: []string{"claim:email=anna@acme.example"}})
			if got := tt.attack(o); got.StatusCode != tt.status {
				t.Errorf("%d %s", got.StatusCode, got.text)
			}
			if !o.waits(o.run.ID) {
				t.Error("something was decided")
			}
			o.provider.SignInAs(anna)
			o.provider.Change(nil)
			o.provider.Forge(nil)
			b := o.browser()
			b.signIn()
			if got := o.answer(b); got.StatusCode != 202 {
				t.Errorf("and anna is told %d %s", got.StatusCode, got.text)
			}
		})
	}
}

// The address that people come back to is the operator's, whatever a request says.
func TestSignInRedirectsNowhereElse(t *testing.T) {
	o := newOffice(t, frontendtest.Call{})
	evil := []func(*http.Request){header("X-Forwarded-Host", "evil.example"), header("Forwarded", "host=evil.example"), func(r *http.Request) { r.Host = "evil.example" }}
	const asked = "redirect_uri=https://evil.example&redirect=https://evil.example&return_to=//evil.example&next=https://evil.example"
	b := o.browser()
	at, err := url.Parse(b.open("GET", o.link+"/sign-in?"+asked, "", evil...).Header.Get("Location"))
	if err != nil || at.Scheme+"://"+at.Host != o.provider.URL || at.Query().Get("redirect_uri") != atHome+people.SignedInPath || len(at.Query()["redirect_uri"]) != 1 {
		t.Fatalf("sent to %s, %v", at, err)
	}
	if got := b.open("GET", b.visit(at.String())+"&"+asked, "", evil...); got.StatusCode != 303 || got.Header.Get("Location") != atHome+o.link {
		t.Errorf("%d, sent back to %s", got.StatusCode, got.Header.Get("Location"))
	}
}

// Who is told no at the provider finds the way back to the question.
func TestWhoDoesNotSignInIsLedBack(t *testing.T) {
	o := newOffice(t, frontendtest.Call{})
	b := o.browser()
	at, err := url.Parse(b.begin())
	if err != nil {
		t.Fatal(err)
	}
	got := b.open("GET", people.SignedInPath+"?error=access_denied&state="+at.Query().Get("state"), "")
	if got.StatusCode != 403 || !strings.Contains(got.text, `<a href="`+atHome+o.link+`">`) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
