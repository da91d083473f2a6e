package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// trouble is why an attempt produced no turn. Exactly one of later and final is set; quick says
// that an immediate retry may help.
type trouble struct {
	later *engine.TryLater
	final *engine.ModelError
	quick bool
	learn string // the member of the request that the endpoint does not support
}

func (t *trouble) Error() string {
	if t.final != nil {
		return t.final.Error()
	}
	return t.later.Error()
}

func passing(quick bool, detail string) *trouble {
	return &trouble{quick: quick, later: &engine.TryLater{Detail: detail}}
}

// unfit is the trouble of an answer that cannot be read as a turn.
func unfit(quick bool, detail string) *trouble {
	return &trouble{quick: quick, later: &engine.TryLater{Detail: detail, Answered: true}}
}

func lasting(format string, args ...any) *trouble {
	return &trouble{final: &engine.ModelError{Detail: fmt.Sprintf(format, args...)}}
}

// refusal is a response with an error status.
type refusal struct {
	status int
	after  time.Duration
	body   string // its beginning, to find the unsupported member; it may contain secrets
}

// refusedWith says what a refusal means, in words for callers that contain nothing from the
// endpoint.
func (c *call) refusedWith(r refusal) *trouble {
	switch s := r.status; {
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable, s == 529:
		t := passing(true, fmt.Sprintf("the model's endpoint is overloaded or limits the rate (status %d)", s))
		t.later.Busy, t.later.After = true, r.after
		return t
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s >= 500:
		t := passing(s != http.StatusNotImplemented, fmt.Sprintf("the model's endpoint failed (status %d)", s))
		t.later.After = r.after
		return t
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return lasting("the model's endpoint rejected the credentials (status %d); %s", s, c.credentials())
	case s == http.StatusNotFound:
		return lasting("the model's endpoint does not know the model or the address (status 404); check the agent's model and base_url, " +
			"and whether the model is installed there")
	case s >= 300 && s < 400:
		return lasting("the model's endpoint redirects (status %d), which is not followed; set base_url to where it redirects to", s)
	case s == http.StatusRequestEntityTooLarge:
		return lasting("the conversation is too large for the model's endpoint (status 413); begin a new thread")
	}
	t := lasting("the model's endpoint rejected the request (status %d); the log of the worker has its response: check the agent's model, request and tools, "+
		"and whether the conversation exceeds the model's context window", r.status)
	t.learn = c.notTaken(r)
	return t
}

func (c *call) credentials() string {
	if key := c.o.Model.APIKey; key != "" {
		return "set the secret " + key + " to a valid key, and check that the key may use this model"
	}
	return "set api_key of the agent's model to the name of a secret with the key, or set the headers that the endpoint requires"
}

// notTaken returns the member of the request that a refusal names, if the request works without it.
func (c *call) notTaken(r refusal) string {
	for _, m := range []struct {
		words []string
		sent  bool
		learn string
	}{
		{[]string{"stream_options", "include_usage"}, c.asksUsage(), "stream_options"},
		{[]string{"reasoning_content", "reasoning"}, !c.noReasoning.Load() && c.sendsReasoning(), "reasoning"},
	} {
		for _, word := range m.words {
			if m.sent && strings.Contains(r.body, word) {
				return m.learn
			}
		}
	}
	return ""
}

func (c *call) sendsReasoning() bool {
	for _, m := range c.prompt.Messages {
		for _, p := range m.Parts {
			if p.Type == core.PartReasoning && p.Provider == Provider && len(m.Calls) > 0 {
				return true
			}
		}
	}
	return false
}

// remember omits the member from now on; it returns false if it was already omitted.
func (c *call) remember(member string) bool {
	switch member {
	case "stream_options":
		return c.noUsageOption.CompareAndSwap(false, true)
	case "reasoning":
		return c.noReasoning.CompareAndSwap(false, true)
	}
	return false
}

// inBandError is an error that an endpoint sends as its answer, with a success status.
type inBandError struct {
	lasting, busy bool
	raw           string // for the log
}

func (e *inBandError) Error() string {
	return "openai: the endpoint sent an error instead of an answer"
}

// errorIn parses such an error as far as endpoints agree on it: a status as a number or a text, or
// a word.
func errorIn(raw json.RawMessage) error {
	var e struct {
		Code words `json:"code"`
		Type words `json:"type"`
	}
	_ = json.Unmarshal(raw, &e)
	said := strings.ToLower(string(e.Code) + " " + string(e.Type))
	status, _ := strconv.Atoi(string(e.Code))
	out := &inBandError{raw: string(raw[:min(len(raw), 64<<10)])}
	out.busy = status == 429 || status == 503 || status == 529 || strings.Contains(said, "rate_limit") || strings.Contains(said, "overloaded")
	out.lasting = !out.busy && (status >= 400 && status < 500 && status != 408 || strings.Contains(said, "invalid_request") ||
		strings.Contains(said, "context_length"))
	return out
}

// broken says what it means that an answer with a success status ended badly. If nothing of it
// came, it counts as a failure of the endpoint, as if the status had said so.
func (c *call) broken(err error, heard bool) *trouble {
	t := c.brokenOff(err)
	if t.later != nil {
		t.later.Answered = t.later.Answered || heard
	}
	return t
}

func (c *call) brokenOff(err error) *trouble {
	var inBand *inBandError
	switch {
	case errors.As(err, &inBand):
		c.log("the endpoint sent an error instead of an answer", "error", inBand.raw)
		if inBand.lasting {
			return lasting("the model's endpoint aborted the request; the log of the worker has its response: check the agent's model, request and " +
				"tools, and whether the conversation exceeds the model's context window")
		}
		t := passing(true, "the model's endpoint failed during the answer")
		t.later.Busy = inBand.busy && !c.say.spoke
		return t
	case errors.Is(err, errTooLong):
		return lasting("the model's answer exceeds the limit; set max_tokens, or check that base_url is the address of a model")
	case errors.Is(err, errIdle):
		return passing(false, "the model's endpoint sent nothing for too long")
	case errors.Is(err, errNoAnswer):
		return unfit(true, "the model's endpoint sent something that is not an answer; if this persists, check base_url")
	}
	return passing(true, "the model's answer broke off")
}

// unreached says why there was no response at all.
func (c *call) unreached(err error) *trouble {
	var t *trouble
	switch {
	case errors.Is(err, netguard.ErrClear):
		return lasting("the model's endpoint was not called, because base_url would send its key unencrypted and is not a private address that "+
			"the operator allows; use https, or serve the agent with --allow-private-hosts %s (on AWS, the parameter PrivateHosts)", c.url.Host)
	case errors.Is(err, netguard.ErrForbidden):
		return lasting("the model's endpoint was not called, because base_url is not a public address and the operator does not allow %s; "+
			"serve the agent with --allow-private-hosts %[1]s (on AWS, the parameter PrivateHosts), or use another address", c.url.Host)
	case errors.Is(err, errIdle):
		t = passing(false, "the model's endpoint did not answer in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		t = passing(true, "the model's endpoint refused the connection; check that it is running, and check base_url")
	default:
		t = passing(true, "the model's endpoint could not be reached, or broke the connection")
	}
	t.later.Cause = errors.New(c.secrets.Redact(c.bare(err)))
	return t
}
