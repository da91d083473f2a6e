package httptool

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What spellings there are is tested in package secret; this is that answers go through it.
func TestNoSpellingOfASecretComesBack(t *testing.T) {
	inJSON := func(text string) string {
		quoted, _ := json.Marshal(text)
		return string(quoted[1 : len(quoted)-1])
	}
	spellers := map[string]func(string) string{"a query": url.QueryEscape, "JSON": inJSON, "HTML": html.EscapeString}
	for name, spell := range spellers {
		for _, key := range []string{"aB3+xY9/Zk7q==", awkward, `\\\"%25%2b&amp;&#43;`} {
			for _, code := range []int{200, 422} {
				w := newWorld(t)
				w.secrets["TOKEN"] = key
				w.serve(publicAddress+":443", func(rw http.ResponseWriter, _ *http.Request) {
					rw.WriteHeader(code)
					_, _ = rw.Write([]byte("<< " + spell(key) + " >>"))
				})
				out := w.call(strings.Replace(secretPay, "max_bytes: 500", "max_bytes: 5000", 1), `{}`)
				if !strings.HasSuffix(out.Text, "<< [secret TOKEN] >>") {
					t.Errorf("%s of %s: %s", name, key, out.Text)
				}
			}
		}
	}
}

// TestASecretThatIsPartOfItsNameDoesNotGrow: placeholders such as "secret" are common where nobody
// has a key yet.
func TestASecretThatIsPartOfItsNameDoesNotGrow(t *testing.T) {
	for _, value := range []string{"secret", "TOKEN", "[secret TOKEN]", "e", "]", "[", " ", "secret TOKEN", "TOKEN]"} {
		w := newWorld(t)
		w.secrets["TOKEN"] = value
		w.serve(publicAddress+":443", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("<" + value + ">")) })
		if out := w.call(secretPay, `{}`); out.Text != "<[secret TOKEN]>" {
			t.Errorf("%q: %s", value, out.Text)
		}
	}
	w := newWorld(t)
	w.secrets["TOKEN"] = "e"
	w.serve(publicAddress+":443", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(strings.Repeat("e ", 250))) })
	out := w.call(secretPay, `{}`)
	if text, _, cut := strings.Cut(out.Text, "\n(Th"); !cut || len(text) > 1100 || !strings.HasPrefix(text, "[secret TOKEN] [secret TOKEN]") {
		t.Errorf("%d bytes of an answer of 500: %s", len(text), out.Text)
	}
}
