package cli_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

var (
	noon = wire.Time{Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	hook = wire.Webhook{ID: "wh_a", Revision: 2, CreatedAt: noon, CreatedBy: "token:anna",
		WebhookRequest: wire.WebhookRequest{Name: "pager", On: []string{"suspended"}, URL: "https://pager.example.com/", Format: "standard", Secret: "WEBHOOK_PAGER"}}
	off = wire.DisabledEndpoint{Endpoint: "wh_a", At: noon, Reason: "410 Gone"}
	lot = wire.Delivery{ID: "dlv_a", Endpoint: "wh_a", ThreadID: "thr_a", Event: 7, Type: "suspended", State: "dead", QueuedAt: noon, EndedAt: &noon, Attempts: 9,
		Log: []wire.DeliveryAttempt{{At: noon, Status: 503, Error: "503 Service\nUnavailable"}}}
)

func TestWebhookCommands(t *testing.T) {
	disabled := hook
	disabled.Disabled = &off
	waiting := lot
	waiting.State = "waiting"
	for _, tt := range []struct {
		name   string
		route  string
		answer http.HandlerFunc
		words  []string
		sent   string // a part of the body
		want   []string
	}{
		{"list", "GET /v1/webhooks", answer(200, wire.Page[wire.Webhook]{Items: []wire.Webhook{disabled}}), []string{"list"}, "", []string{"wh_a", "pager.example.com", "disabled", "all"}},
		{"list of none", "GET /v1/webhooks", answer(200, wire.Page[wire.Webhook]{Items: []wire.Webhook{}}), []string{"list"}, "", []string{"no webhooks"}},
		{"add", "POST /v1/webhooks", answer(201, hook), []string{"add", "https://pager.example.com/", "--on", "suspended,failed", "--secret", "WEBHOOK_PAGER", "--agents", "a,b"},
			`"agents":["a","b"],"on":["suspended","failed"],"url":"https://pager.example.com/","secret":"WEBHOOK_PAGER"`, []string{"wh_a", "by token:anna", "dormouse webhooks test wh_a"}},
		{"add a template", "POST /v1/webhooks", answer(201, hook), []string{"add", "https://a.example/", "--on", "done", "--format", "template", "--template", `{"a": 1}`}, `"template":{"a":1}`, nil},
		{"show", "GET /v1/webhooks/wh_a", answer(200, disabled), []string{"show", "wh_a"}, "", []string{"410 Gone", "dormouse webhooks enable wh_a"}},
		{"update", "PATCH /v1/webhooks/wh_a", answer(200, hook), []string{"update", "wh_a", "--address", "https://b.example/", "--agents", ""}, `{"agents":[],"url":"https://b.example/"}`, []string{"revision"}},
		{"remove", "DELETE /v1/webhooks/wh_a", nothing, []string{"remove", "wh_a"}, "", []string{"removed: wh_a"}},
		{"test", "POST /v1/webhooks/wh_a/test", answer(200, wire.WebhookTest{Delivered: true, DeliveryAttempt: wire.DeliveryAttempt{At: noon, Status: 204, DurationMS: 12}}), []string{"test", "wh_a"}, "", []string{"status 204 after 12 ms"}},
		{"disable", "POST /v1/webhooks/disable", answer(200, off), []string{"disable", "agent/desk/pager", "--reason", "moving"}, `{"endpoint":"agent/desk/pager","reason":"moving"}`, []string{"disabled: wh_a", "410 Gone"}},
		{"enable", "POST /v1/webhooks/enable", nothing, []string{"enable", "wh_a"}, `{"endpoint":"wh_a"}`, []string{"enabled: wh_a"}},
		{"disabled", "GET /v1/webhooks/disabled", answer(200, wire.Page[wire.DisabledEndpoint]{Items: []wire.DisabledEndpoint{off}}), []string{"disabled"}, "", []string{"410 Gone"}},
		{"deliveries", "GET /v1/webhooks/deliveries", answer(200, wire.Page[wire.Delivery]{Items: []wire.Delivery{lot}, Next: "c2"}), []string{"deliveries", "--thread", "thr_a"}, "",
			[]string{"dlv_a", "503 Service Unavailable", "dormouse webhooks deliveries --thread thr_a", "--limit 20 --cursor c2"}},
		{"deliveries of all threads", "GET /v1/webhooks/deliveries", answer(200, wire.Page[wire.Delivery]{Items: []wire.Delivery{}}), []string{"deliveries", "--endpoint", "wh_a"}, "",
			[]string{"no deliveries\nwaiting deliveries are listed per thread: --thread THREAD\n"}},
		{"dead", "GET /v1/webhooks/deliveries", answer(200, wire.Page[wire.Delivery]{Items: []wire.Delivery{lot}}), []string{"dead"}, "", []string{"dlv_a", "dead"}},
		{"redrive", "POST /v1/webhooks/deliveries/dlv_a/redrive", answer(200, waiting), []string{"redrive", "dlv_a"}, "", []string{"waiting: dlv_a to wh_a"}},
		{"redrive all", "POST /v1/webhooks/deliveries/redrive", inTurn(answer(200, wire.Redriven{Redriven: 100, Next: "c2"}), answer(200, wire.Redriven{Redriven: 3})), []string{"redrive", "--endpoint", "wh_a"},
			`"cursor":"c2"`, []string{"103 redriven to wh_a"}},
		{"forget", "DELETE /v1/webhooks/deliveries/dlv_a", nothing, []string{"forget", "dlv_a"}, "", []string{"forgotten: dlv_a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			method, _, _ := strings.Cut(tt.route, " ")
			s := newServer(t, map[string]http.HandlerFunc{tt.route: tt.answer})
			out := dormouse(t, s, append([]string{"webhooks"}, tt.words...)...)
			out.wantExit(t, cmdline.ExitOK)
			contains(t, out.stdout, tt.want...)
			if tt.sent != "" {
				contains(t, string(s.last(method).body), tt.sent)
			}
			again := dormouse(t, newServer(t, map[string]http.HandlerFunc{tt.route: tt.answer}), append([]string{"webhooks", "--json"}, tt.words...)...)
			again.wantExit(t, cmdline.ExitOK)
			if again.stdout == "" || again.stdout[0] != '{' {
				t.Errorf("--json prints %s", again.stdout)
			}
		})
	}
}

func TestAWebhookThatCantWorkIsAWarning(t *testing.T) {
	lacking := hook
	lacking.Warnings = []string{"secret: the secret WEBHOOK_PAGER is not set on this server"}
	s := newServer(t, map[string]http.HandlerFunc{"POST /v1/webhooks": answer(201, lacking)})
	out := dormouse(t, s, "webhooks", "add", "https://pager.example.com/", "--on", "done", "--secret", "WEBHOOK_PAGER")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "wh_a")
	contains(t, out.stderr, "warning: secret: the secret WEBHOOK_PAGER is not set on this server")
}

func nothing(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func TestWebhookCommandsThatFail(t *testing.T) {
	bad := wire.WebhookTest{DeliveryAttempt: wire.DeliveryAttempt{At: noon, Status: 503, Error: "503 Service Unavailable"}}
	s := newServer(t, map[string]http.HandlerFunc{"POST /v1/webhooks/wh_a/test": answer(200, bad), "GET /v1/webhooks/wh_b": problem(404, "webhook_not_found", "there is no webhook with this id")})
	for _, tt := range []struct {
		words []string
		exit  int
		want  string
	}{
		{[]string{"test", "wh_a"}, cmdline.ExitFailed, "503 Service Unavailable"},
		{[]string{"show", "wh_b"}, cmdline.ExitFailed, "no webhook with this id"},
		{[]string{"add", "--on", "done"}, cmdline.ExitUsage, "pass a URL, or set --mail"},
		{[]string{"add", "https://a.example/"}, cmdline.ExitUsage, "--on is missing"},
		{[]string{"add", "https://a.example/", "--on", "done", "--template", "{"}, cmdline.ExitUsage, "--template is not JSON"},
		{[]string{"update", "wh_a"}, cmdline.ExitUsage, "nothing is to be changed"},
		{[]string{"redrive"}, cmdline.ExitUsage, "pass either"},
		{[]string{"redrive", "dlv_a", "--endpoint", "wh_a"}, cmdline.ExitUsage, "pass either"},
		{[]string{"dead", "--limit", "201"}, cmdline.ExitUsage, "the maximum is 200"},
		{[]string{"remove"}, cmdline.ExitUsage, "wrong number of arguments"},
	} {
		out := dormouse(t, s, append([]string{"webhooks"}, tt.words...)...)
		out.wantExit(t, tt.exit)
		contains(t, out.stderr, tt.want)
	}
}
