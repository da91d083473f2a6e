package bedrock

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
	"github.com/dormouse-dev/dormouse/internal/text/retryafter"
)

// retry is what is left to do about what may pass.
const retry = "; if the run has given up, retry it later"

// verdict is what a failure means.
type verdict struct {
	code string // Bedrock's word, if it is one of Bedrock's
	// of Bedrock; it may name accounts and ARNs, and a gateway's may repeat the request
	message string
	status  int
	request string // Bedrock's id of the request
	detail  string // for callers
	later   bool   // it may pass
	again   bool   // soon, perhaps
	busy    bool   // Bedrock did nothing
	began   bool   // the model did something, and it is paid for
	after   time.Duration
}

// names says whether Bedrock refused the request and names something in saying why.
func (v verdict) names(what string) bool {
	return v.code == "ValidationException" && strings.Contains(strings.ToLower(v.message), what)
}

func (v verdict) err() error {
	if !v.later {
		return &engine.ModelError{Detail: v.detail}
	}
	return &engine.TryLater{Detail: v.detail, Busy: v.busy, Answered: v.began, After: v.after, Cause: errors.New("bedrock: " + v.word())}
}

// word is the failure in one word that says nothing of accounts.
func (v verdict) word() string {
	switch {
	case v.code != "":
		return v.code
	case v.status != 0:
		return "status " + strconv.Itoa(v.status)
	}
	return "no answer, or half of one"
}

// judge says what a failure means. Began is whether an answer had begun.
func judge(err error, began bool, now time.Time) verdict {
	v := verdict{message: err.Error(), later: true, again: true}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.Response != nil {
		v.status, v.request = response.HTTPStatusCode(), clipped(response.Response.Header.Get("X-Amzn-Requestid"))
		v.after = retryafter.Parse(response.Response.Header.Get("Retry-After"), now)
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		v.code, v.message = word(api.ErrorCode()), api.ErrorMessage()
	}
	if errors.As(err, new(*smithy.InvalidParamsError)) || errors.As(err, new(*smithy.SerializationError)) {
		v.code, v.later = "", false
		v.detail = "the request to the model could not be made; the log of the worker says what is wrong with it"
		return v
	}
	v.mean()
	switch {
	case errors.Is(err, errTooLong):
		v.again, v.detail = false, "the model's answer is longer than any that is taken; set model.max_tokens"
	case errors.Is(err, errMalformed) || errors.Is(err, errNoCall) || errors.Is(err, errNoName) || errors.Is(err, errOpenCall):
		v.detail = "the model wrote something that nobody can read" + retry
	}
	v.busy = v.busy && !began
	v.began = began || v.code == "ModelErrorException" || v.code == "ModelTimeoutException"
	return v
}

// mean fills in what follows from code and status.
func (v *verdict) mean() {
	switch {
	case v.code == "ThrottlingException" || v.code == "TooManyRequestsException":
		v.busy, v.detail = true, "Bedrock has no room for the request now. If that lasts, ask AWS for a higher quota of this model"
	case v.code == "ServiceQuotaExceededException":
		v.again, v.busy, v.detail = false, true, "the quota of this model is used up. If that lasts, ask AWS for a higher one"
	case v.code == "ModelNotReadyException":
		v.busy, v.detail = true, "Bedrock is making the model ready"+retry
	case v.code == "ServiceUnavailableException" || v.status == http.StatusServiceUnavailable:
		v.busy, v.detail = true, "Bedrock is not available now"+retry
	case v.code == "ModelTimeoutException":
		v.detail = "the model took longer than Bedrock waits for it" + retry
	case v.code == "ExpiredTokenException":
		v.again, v.detail = false, "the worker's AWS credentials have expired; see that they are renewed"
	case v.refuses():
		v.later, v.again = false, false
	case v.status == 0 && v.code == "":
		v.detail = "the model's answer did not come, or broke off" + retry
	default:
		v.detail = "Bedrock or the model failed" + retry
	}
}

// refuses says whether the same request would be refused again, and fills in what to do about that.
func (v *verdict) refuses() bool {
	switch v.code {
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "MissingAuthenticationTokenException",
		"IncompleteSignatureException", "InvalidClientTokenId":
		v.detail = "Bedrock does not let the worker use this model: allow its role bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream " +
			"on the model and its inference profile, and see that the account has access to the model; the log of the worker says what is missing"
	case "ResourceNotFoundException":
		v.detail = "Bedrock has no such model in this region: correct model.model or model.region in the agent's definition"
	case "ValidationException":
		v.detail = v.invalid()
	default:
		switch s := v.status; {
		case s < 400, s >= 500, s == http.StatusRequestTimeout, s == http.StatusTooManyRequests, s == http.StatusFailedDependency:
			return false
		}
		v.detail = "Bedrock refused the request; the log of the worker has its reason"
	}
	return true
}

// invalid says what to do about a request that Bedrock calls invalid, without its words: they may
// be the conversation's.
func (v *verdict) invalid() string {
	switch {
	case v.names("on-demand throughput"):
		return "Bedrock serves this model through an inference profile only: write the id of one in model.model, such as the model's with eu. " +
			"or us. before it"
	case v.names("too long") || v.names("too many tokens") || v.names("context window") || v.names("context length"):
		return "the conversation is longer than the model can read: begin a new thread, or use a model with a larger window"
	case v.names("model identifier"):
		return "Bedrock does not know the model's id: correct model.model in the agent's definition"
	}
	return "Bedrock refused the request as invalid: see that the model takes what the agent uses (tools, images, documents, settings under model); " +
		"the log of the worker has the reason"
}

// word is a code if it looks like one. It comes from outside, and is shown.
func word(code string) string {
	for _, r := range code {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return "UnknownException"
		}
	}
	return clip.Bytes(code, 80, "")
}

// tell logs a failure. What is said of it there is said nowhere else.
func (m *Model) tell(r *request, v verdict) {
	m.o.Logger.Warn("bedrock: the model did not answer", "run", r.prompt.Run, "step", r.prompt.Step, "failure", v.word(), "status", v.status,
		"request_id", v.request, "message", scrubbed(v.message))
}

// What looks like a credential. A gateway that refuses a request may repeat it, and the log is not
// the place for that.
var (
	credentials = regexp.MustCompile(`(?i)(authorization|credential|signature|token|secret|password|api-?key)(["']?\s*[:=]\s*["']?)[^\s"',;&]+`)
	accessKeys  = regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{12,}`)
	longWords   = regexp.MustCompile(`[A-Za-z0-9+/=]{40,}`)
)

func scrubbed(message string) string {
	message = strings.ToValidUTF8(message, "\ufffd")
	message = clip.Bytes(message, 4000, "")
	message = credentials.ReplaceAllString(message, "$1$2[removed]")
	message = accessKeys.ReplaceAllString(message, "[removed]")
	message = longWords.ReplaceAllString(message, "[removed]")
	return clip.Runes(message, 1000, "…")
}
