package hookfile_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
)

// shown are the hooks on the page, in order.
func shown(t *testing.T) []hookfile.Hook {
	t.Helper()
	page, err := os.ReadFile("../../../docs/reference/hook-file.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []hookfile.Hook
	for _, m := range regexp.MustCompile("(?ms)^```yml\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		h, err := hookfile.Parse("shown.yaml", []byte(m[1]))
		if err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
		all = append(all, h)
	}
	// A file that is wrong everywhere is answered with every key there is.
	_, err = hookfile.Parse("x.yaml", []byte("x: 1\nverify: {x: 1, scheme: github, secret: S}\nid: {x: 1, path: a}\nstart: {x: 1}\nmessage: {x: 1}\ndecision: {x: 1, action: resume}\nslack_app: {x: 1}\n"))
	for _, keys := range regexp.MustCompile(`it takes ([a-z_, ]+)`).FindAllStringSubmatch(err.Error(), -1) {
		for key := range strings.SplitSeq(keys[1], ", ") {
			if !strings.Contains(string(page), "`"+key+"`") {
				t.Errorf("the page does not name %q", key)
			}
		}
	}
	return all
}

func TestTheHooksOfThePageDoWhatItSays(t *testing.T) {
	hooks := shown(t)
	if len(hooks) != 3 {
		t.Fatalf("the page has %d hooks", len(hooks))
	}
	issue := mapped(t, hooks[0], "github-issue.json")
	if string(issue.Start.Input) != `"Issue 42 of acme/shop: Order A-2 was charged twice\n\nThe customer asks for $120 back."` ||
		string(issue.Start.Metadata) != `{"issue":42,"repository":"acme/shop"}` || issue.By != "anna-acme" || issue.ID != "the request" {
		t.Errorf("%+v: %s", issue, issue.Start.Input)
	}
	dispute := mapped(t, stripeOfTheGuide(t), "stripe-dispute.json")
	if string(dispute.Start.Input) != `"charge.dispute.created: 12000 usd for ch_acme000001"` || dispute.Start.ThreadKey != "stripe-dispute-du_acme000001" || dispute.ID != "evt_acme0000000001" {
		t.Errorf("%+v: %s", dispute, dispute.Start.Input)
	}
}

// stripeOfTheGuide is the hook for Stripe in the guide that the page names.
func stripeOfTheGuide(t *testing.T) hookfile.Hook {
	t.Helper()
	page, err := os.ReadFile("../../../docs/guides/start-from-webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?ms)^```yaml\n(verify: {scheme: stripe.*?)^```$").FindStringSubmatch(string(page))
	if m == nil {
		t.Fatal("the guide has no hook for Stripe")
	}
	h, err := hookfile.Parse("shown.yaml", []byte(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mapped(t *testing.T, h hookfile.Hook, file string) hookfile.Act {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	body, err := hookfile.ReadBody(raw)
	if err != nil {
		t.Fatal(err)
	}
	if unmet, ok := body.Unmet(h.When); !ok {
		t.Errorf("%s: the condition on %s doesn't hold", file, unmet.Argument)
	}
	act, err := h.Map(hookfile.Delivery{Name: "the request", Header: func(string) string { return "" }, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return act
}
