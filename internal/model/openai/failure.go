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

// trouble is why an attempt brought no turn. Exactly one of later and final is set; quick says that
// asking again at once may help.
type trouble struct {
	later *engine.TryLater
	final *engine.ModelError
	quick bool
	learn string // the member of the request that the endpoint does not take
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

// unfit is an answer that cannot be read as a turn.
func unfit(quick bool, detail string) *trouble {
	return &trouble{quick: quick, later: &engine.TryLater{Detail: detail, Answered: true}}
}

func lasting(format string, args ...any) *trouble {
	return &trouble{final: &engine.ModelError{Detail: fmt.Sprintf(format, args...)}}
}

// refusal is an answer with a status that is no success.
type refusal struct {
	status int
	after  time.Duration
	body   string // its beginning, to see which member is not taken; it may hold secrets
}

// trouble says what a refusal means, in words for callers: none are the endpoint's.
func (c *call) refusedWith(r refusal) *trouble {
	switch s := r.status; {
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable, s == 529:
		t := passing(true, fmt.Sprintf("the model's endpoint has no room for the call now (status %d)", s))
		t.later.Busy, t.later.After = true, r.after
		return t
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s >= 500:
		t := passing(s != http.StatusNotImplemented, fmt.Sprintf("the model's endpoint failed (status %d)", s))
		t.later.After = r.after
		return t
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return lasting("the model's endpoint refused the credentials (status %d); %s", s, c.credentials())
	case s == http.StatusNotFound:
		return lasting("the model's endpoint knows no such model or address (status 404); check model and base_url of the agent, " +
			"and that the model is installed there")
	case s >= 300 && s < 400:
		return lasting("the model's endpoint redirects (status %d), which is not followed; set base_url to where it redirects to", s)
	case s == http.StatusRequestEntityTooLarge:
		return lasting("the conversation is larger than the model's endpoint takes (status 413); begin a new thread")
	}
	t := lasting("the model's endpoint refused the request (status %d); the log of the worker has its answer: check the agent's model, request and tools, "+
		"and whether the conversation is longer than the model takes", r.status)
	t.learn = c.notTaken(r)
	return t
}

func (c *call) credentials() string {
	if key := c.o.Model.APIKey; key != "" {
		return "set the secret " + key + " to a key that it takes, and check that the key may use this model"
	}
	return "name the secret of a key in api_key of the agent's model, or set the headers that it wants"
}

// notTaken is the member of the request that a refusal names, if it is one that can be done
// without.
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

// remember leaves the member out from now on; false if that was so already.
func (c *call) remember(member string) bool {
	switch member {
	case "stream_options":
		return c.noUsageOption.CompareAndSwap(false, true)
	case "reasoning":
		return c.noReasoning.CompareAndSwap(false, true)
	}
	return false
}

// inBandError is an error that came where an answer was due, under a status that says that all is
// well.
type inBandError struct {
	lasting, busy bool
	raw           string // for the log
}

func (e *inBandError) Error() string {
	return "openai: the endpoint sent an error in place of an answer"
}

// errorIn reads one as far as endpoints agree on it: a status as a number or a text, or a word.
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

// broken says what it means that an answer under a status of success did not end well. If none of
// it came, that is the endpoint's failure, as if its status had said so.
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
		c.log("the endpoint sent an error in place of an answer", "error", inBand.raw)
		if inBand.lasting {
			return lasting("the model's endpoint refused to go on with the request; the log of the worker has its answer: check the agent's model, request and " +
				"tools, and whether the conversation is longer than the model takes")
		}
		t := passing(true, "the model's endpoint failed while it answered")
		t.later.Busy = inBand.busy && !c.say.spoke
		return t
	case errors.Is(err, errTooLong):
		return lasting("the model's answer is longer than what is taken; set max_tokens, or check that base_url leads to a model")
	case errors.Is(err, errIdle):
		return passing(false, "the model's endpoint said nothing for too long")
	case errors.Is(err, errNoAnswer):
		return unfit(true, "the model's endpoint sent something else than an answer; check base_url if that goes on")
	}
	return passing(true, "the model's answer broke off")
}

// unreached says why there was no answer at all.
func (c *call) unreached(err error) *trouble {
	var t *trouble
	switch {
	case errors.Is(err, netguard.ErrClear):
		return lasting("the model's endpoint was not asked: its key would go over the network in the clear, and base_url leads to no private address that "+
			"the operator allows; use https, or serve the agent with --allow-private-hosts %s (on AWS, the parameter PrivateHosts)", c.url.Host)
	case errors.Is(err, netguard.ErrForbidden):
		return lasting("the model's endpoint was not asked: base_url leads to an address that is not public, and the operator does not allow %s; "+
			"serve the agent with --allow-private-hosts %[1]s (on AWS, the parameter PrivateHosts), or use another address", c.url.Host)
	case errors.Is(err, errIdle):
		t = passing(false, "the model's endpoint did not answer in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		t = passing(true, "the model's endpoint refused the connection; check that it runs, and base_url")
	default:
		t = passing(true, "the model's endpoint could not be reached, or broke the connection")
	}
	t.later.Cause = errors.New(c.secrets.Redact(c.bare(err)))
	return t
}
