package httptool

import (
	"net/http"
	"strings"
	"testing"
)

const secretLook = `  - {name: look, http: {url: "https://api.example.com/start", headers: {Authorization: "Bearer {secret:TOKEN}", X-Plain: yes it is}},
     parameters: {type: object}}`

func redirect(code int, to string) http.HandlerFunc { return status(code, "Location", to) }

func TestRedirectsOfReadsAreFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		w := newWorld(t)
		w.secrets["TOKEN"] = "s3cret-value"
		w.serve(publicAddress+":443", inTurn(w, redirect(code, "/next?x=1"), answering(200, `"there"`)))
		out := w.call(secretLook, `{}`)
		got := w.requests()
		if out.Text != `"there"` || len(got) != 2 || got[1].URI != "/next?x=1" || got[1].Header.Get("Authorization") != "Bearer s3cret-value" {
			t.Errorf("%d: outcome %+v, requests %+v", code, out, got)
		}
	}
}

func TestOnlyTheHostOfTheFileIsSentItsHeaders(t *testing.T) {
	for _, to := range []string{"https://other.example.com/x", "https://api.example.com:8443/x", "https://sub.api.example.com/x"} {
		w := newWorld(t)
		w.secrets["TOKEN"] = "s3cret-value"
		w.names["other.example.com"], w.names["sub.api.example.com"] = []string{"8.8.4.4"}, []string{"8.8.4.4"}
		w.serve(publicAddress+":443", redirect(302, to))
		other := w.serve("8.8.4.4:443", answering(200, `"there"`))
		w.routes[publicAddress+":8443"] = other.Listener.Addr().String()
		out := w.call(secretLook, `{}`)
		got := w.requests()
		if out.Text != `"there"` || len(got) != 2 || got[1].Header.Get("Authorization") != "" || got[1].Header.Get("X-Plain") != "" {
			t.Errorf("%s: outcome %+v, requests %+v", to, out, got)
		}
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	tests := []struct{ name, to, want string }{
		{"to a private address", "https://10.0.0.1/", "private or special network"},
		{"to the credentials of a cloud", "https://169.254.169.254/latest/meta-data/", "private or special network"},
		{"to the machine itself", "https://localhost/", "private or special network"},
		{"to a name that leads inside", "https://inside.example.com/", "private or special network"},
		{"from https to http", "http://api.example.com/", "from https to http"},
		{"to a user name", "https://user@api.example.com/", "a user name"},
		{"to another scheme", "file:///etc/passwd", "an invalid address"},
		{"to nothing that can be read", "https://[", "an invalid address"},
		{"to another host with the secret", "https://other.example.com/?t=s3cret-value", "contains a secret of this tool"},
		{"round and round", "/start", "more than 5 times"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.secrets["TOKEN"] = "s3cret-value"
			w.names["inside.example.com"], w.names["localhost"] = []string{"192.168.1.1"}, []string{"127.0.0.1"}
			w.serve(publicAddress+":443", redirect(302, tt.to))
			out := w.call(secretLook, `{}`)
			if !out.Failed || !strings.Contains(out.Text, tt.want) || strings.Contains(out.Text, "s3cret") {
				t.Errorf("outcome %+v", out)
			}
			for _, a := range w.dialled {
				if a.String() != publicAddress+":443" {
					t.Errorf("dialled %s", a)
				}
			}
		})
	}
}

func TestARedirectOfAWriteIsAFailure(t *testing.T) {
	for _, tool := range []string{pay, again} {
		w := newWorld(t)
		w.serve(publicAddress+":443", redirect(307, "/elsewhere"))
		out := w.call(tool, `{"order":"1"}`)
		if !out.Failed || !strings.Contains(out.Text, "A redirect of a POST is not followed") || len(w.requests()) != 1 {
			t.Errorf("outcome %+v after %d requests", out, len(w.requests()))
		}
	}
}
