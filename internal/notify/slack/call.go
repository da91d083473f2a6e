package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// answer is a response of Slack's API.
type answer struct {
	OK      bool   `json:"ok"`
	Error   string `json:"error"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

// failure says why a call of the API failed. It contains no secret.
type failure struct {
	status int
	code   string // Slack's error code, if any
	why    string
}

func (f *failure) Error() string { return f.why }

// hopeless are errors that don't go away if the message is sent again.
var hopeless = []string{"is_archived", "message_not_found", "cant_update_message", "edit_window_closed", "msg_too_long", "no_text", "invalid_blocks", "invalid_blocks_format"}

// result is the outcome of a call. If the app lacks a token, a permission or the channel, its
// operator can correct that, so such a notice is sent again until it is too old.
func (f *failure) result() delivery.Result {
	switch {
	case f == nil:
		return delivery.Result{Outcome: notice.Delivered, Status: http.StatusOK}
	case slices.Contains(hopeless, f.code):
		return delivery.Result{Outcome: notice.Hopeless, Status: f.status, Error: f.why}
	}
	return delivery.Result{Outcome: notice.Refused, Status: f.status, Error: f.why}
}

// mostAnswer is how many bytes of a response are read.
const mostAnswer = 256 << 10

var errorCode = lazyregexp.New(`^[a-z_]{1,64}$`)

// call calls a method of the API once. token is the name of the secret with the bot token. No error
// contains the secret's value.
func (a *App) call(ctx context.Context, token, method string, body any) (answer, *failure) {
	found, err := a.o.Secrets.Values(ctx, []string{token})
	if err != nil {
		return answer{}, &failure{why: err.Error()}
	}
	raw, err := core.EncodeAny(body)
	if err != nil {
		return answer{}, &failure{why: "the message can't be written as JSON"}
	}
	at, err := url.Parse(a.o.API + "/" + method)
	if err != nil {
		return answer{}, &failure{why: "the address of Slack's API is not valid"}
	}
	req := &http.Request{Method: http.MethodPost, URL: at, Host: at.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}, "User-Agent": {a.o.Agent}, "Authorization": {"Bearer " + strings.TrimSpace(found[token])}},
		Body:   io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw))}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer a.o.Clock.AfterFunc(a.o.Limit, func() { cancel(remote.ErrSlow) })()
	resp, err := a.o.Guard.RoundTrip(req.WithContext(netguard.Through(ctx, netguard.Access{Private: a.o.API != API, Clear: at.Scheme != "https"})))
	if err != nil {
		return answer{}, &failure{why: "Slack could not be reached"}
	}
	defer resp.Body.Close()
	return read(resp)
}

func read(resp *http.Response) (got answer, failed *failure) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return got, &failure{status: resp.StatusCode, code: "ratelimited", why: "Slack allows no more requests now (ratelimited)"}
	case resp.StatusCode != http.StatusOK:
		return got, &failure{status: resp.StatusCode, why: "Slack answered " + remote.Status(resp.StatusCode)}
	case err != nil || json.Unmarshal(raw, &got) != nil:
		return got, &failure{status: resp.StatusCode, why: "Slack's answer can't be read"}
	case got.OK:
		return got, nil
	case !errorCode.MatchString(got.Error):
		got.Error = "unknown"
	}
	return got, &failure{status: resp.StatusCode, code: got.Error, why: "Slack refused: " + got.Error}
}
