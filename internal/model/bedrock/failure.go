package bedrock

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
	"github.com/dormouse-dev/dormouse/internal/text/retryafter"
)

// retry is the advice for temporary failures.
const retry = "; if the run has given up, retry it later"

// verdict is what a failure means.
type verdict struct {
	code string // Bedrock's error code
	// of Bedrock; it may contain accounts and ARNs, and that of a gateway may repeat the
	// request
	message string
	status  int
	request string // Bedrock's id for the request
	detail  string // for callers
	later   bool   // it is temporary
	again   bool   // a retry soon may help
	busy    bool   // Bedrock did nothing
	began   bool   // the model did something, which is billed
	after   time.Duration
}

// names reports whether Bedrock rejected the request for a reason that contains a text.
func (v verdict) names(what string) bool {
	return v.code == "ValidationException" && strings.Contains(strings.ToLower(v.message), what)
}

func (v verdict) err() error {
	if !v.later {
		return &engine.ModelError{Detail: v.detail}
	}
	return &engine.TryLater{Detail: v.detail, Busy: v.busy, Answered: v.began, After: v.after, Cause: errors.New("bedrock: " + v.word())}
}

// word is the failure as one word without account data.
func (v verdict) word() string {
	switch {
	case v.code != "":
		return v.code
	case v.status != 0:
		return "status " + strconv.Itoa(v.status)
	}
	return "no answer or an incomplete one"
}

// judge says what a failure means. began reports whether an answer had begun.
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
		v.detail = "the request to the model could not be built; see the log of the worker"
		return v
	}
	v.mean()
	switch {
	case errors.Is(err, errTooLong):
		v.again, v.detail = false, "the model's answer exceeds the limit; set model.max_tokens"
	case errors.Is(err, errMalformed) || errors.Is(err, errNoCall) || errors.Is(err, errNoName) || errors.Is(err, errOpenCall):
		v.detail = "the model's answer cannot be read" + retry
	}
	v.busy = v.busy && !began
	v.began = began || v.code == "ModelErrorException" || v.code == "ModelTimeoutException"
	return v
}

// mean derives the meaning from code and status.
func (v *verdict) mean() {
	switch {
	case v.code == "ThrottlingException" || v.code == "TooManyRequestsException":
		v.busy, v.detail = true, "Bedrock throttled the request; if this persists, ask AWS for a higher quota of this model"
	case v.code == "ServiceQuotaExceededException":
		v.again, v.busy, v.detail = false, true, "the quota of this model is used up; if this persists, ask AWS for a higher one"
	case v.code == "ModelNotReadyException":
		v.busy, v.detail = true, "Bedrock is still loading the model"+retry
	case v.code == "ServiceUnavailableException" || v.status == http.StatusServiceUnavailable:
		v.busy, v.detail = true, "Bedrock is unavailable"+retry
	case v.code == "ModelTimeoutException":
		v.detail = "the model exceeded the time limit of Bedrock" + retry
	case v.code == "ExpiredTokenException":
		v.again, v.detail = false, "the worker's AWS credentials have expired; renew them"
	case v.refuses():
		v.later, v.again = false, false
	case v.status == 0 && v.code == "":
		v.detail = "the model's answer is missing or incomplete" + retry
	default:
		v.detail = "Bedrock or the model failed" + retry
	}
}

// refuses reports whether the same request would be rejected again, and sets what to do about that.
func (v *verdict) refuses() bool {
	switch v.code {
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "MissingAuthenticationTokenException",
		"IncompleteSignatureException", "InvalidClientTokenId":
		v.detail = "Bedrock denied the worker access to this model: allow its role bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream " +
			"on the model and its inference profile, and enable access to the model for the account; the log of the worker says what is missing"
	case "ResourceNotFoundException":
		v.detail = "the model does not exist in this region: correct model.model or model.region in the agent's definition"
	case "ValidationException":
		v.detail = v.invalid()
	default:
		switch s := v.status; {
		case s < 400, s >= 500, s == http.StatusRequestTimeout, s == http.StatusTooManyRequests, s == http.StatusFailedDependency:
			return false
		}
		v.detail = "Bedrock rejected the request; the log of the worker has its reason"
	}
	return true
}

// invalid says what to do about a request that Bedrock rejects as invalid. It does not repeat
// Bedrock's message, which may quote the conversation.
func (v *verdict) invalid() string {
	switch {
	case v.names("on-demand throughput"):
		return "Bedrock serves this model only through an inference profile: set model.model to the id of one, such as the model's id with the prefix eu. " +
			"or us."
	case v.names("too long") || v.names("too many tokens") || v.names("context window") || v.names("context length"):
		return "the conversation exceeds the context window of the model: begin a new thread, or use a model with a larger window"
	case v.names("model identifier"):
		return "Bedrock does not know the model's id: correct model.model in the agent's definition"
	}
	return "Bedrock rejected the request as invalid: check that the model supports what the agent uses (tools, images, documents, settings under model); " +
		"the log of the worker has the reason"
}

// word returns a code from outside if it has the form of one, because it will be shown.
func word(code string) string {
	for _, r := range code {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return "UnknownException"
		}
	}
	return clip.Bytes(code, 80, "")
}

// tell logs a failure. These details appear nowhere else.
func (m *Model) tell(r *request, v verdict) {
	m.o.Logger.Warn("bedrock: the model did not answer", "run", r.prompt.Run, "step", r.prompt.Step, "failure", v.word(), "status", v.status,
		"request_id", v.request, "message", scrubbed(v.message))
}

// Patterns of credentials. A gateway that rejects a request may repeat it, and credentials must not
// reach the log.
var (
	credentials = lazyregexp.New(`(?i)(authorization|credential|signature|token|secret|password|api-?key)(["']?\s*[:=]\s*["']?)[^\s"',;&]+`)
	accessKeys  = lazyregexp.New(`\b(AKIA|ASIA)[A-Z0-9]{12,}`)
	longWords   = lazyregexp.New(`[A-Za-z0-9+/=]{40,}`)
)

func scrubbed(message string) string {
	message = strings.ToValidUTF8(message, "\ufffd")
	message = clip.Bytes(message, 4000, "")
	message = credentials.ReplaceAllString(message, "$1$2[removed]")
	message = accessKeys.ReplaceAllString(message, "[removed]")
	message = longWords.ReplaceAllString(message, "[removed]")
	return clip.Runes(message, 1000, "…")
}
