package gateway

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

// event is a request as a function is shown it, in payload format 2.0.
type event struct {
	Version               string            `json:"version"`
	RouteKey              string            `json:"routeKey"`
	RawPath               string            `json:"rawPath"`
	RawQueryString        string            `json:"rawQueryString"`
	Cookies               []string          `json:"cookies,omitempty"`
	Headers               map[string]string `json:"headers"`
	QueryStringParameters map[string]string `json:"queryStringParameters,omitempty"`
	PathParameters        map[string]string `json:"pathParameters,omitempty"`
	RequestContext        requestContext    `json:"requestContext"`
	Body                  string            `json:"body,omitempty"`
	IsBase64Encoded       bool              `json:"isBase64Encoded"`
}

type requestContext struct {
	AccountID    string         `json:"accountId"`
	APIID        string         `json:"apiId"`
	Authorizer   map[string]any `json:"authorizer,omitempty"`
	DomainName   string         `json:"domainName"`
	DomainPrefix string         `json:"domainPrefix"`
	HTTP         requestLine    `json:"http"`
	RequestID    string         `json:"requestId"`
	RouteKey     string         `json:"routeKey"`
	Stage        string         `json:"stage"`
	Time         string         `json:"time"`
	TimeEpoch    int64          `json:"timeEpoch"`
}

type requestLine struct {
	Method    string `json:"method"`
	Path      string `json:"path"`
	Protocol  string `json:"protocol"`
	SourceIP  string `json:"sourceIp"`
	UserAgent string `json:"userAgent"`
}

func (a *API) event(r *http.Request, route stack.Route, parameters map[string]string, body []byte) event {
	e := newEvent(r, body, a.Now())
	e.RouteKey, e.RawPath, e.PathParameters = route.Key(), decodedPath(r.URL), parameters
	e.RequestContext.AccountID, e.RequestContext.APIID = a.Account, a.Stack.API.ID
	e.RequestContext.RouteKey, e.RequestContext.HTTP.Path = e.RouteKey, e.RawPath
	return e
}

// newEvent is what both doors have in common.
func newEvent(r *http.Request, body []byte, now time.Time) event {
	source, _, _ := net.SplitHostPort(r.RemoteAddr)
	e := event{Version: "2.0", RouteKey: "$default", RawPath: r.URL.EscapedPath(), RawQueryString: r.URL.RawQuery, Headers: headers(r, source),
		QueryStringParameters: flat(r.URL)}
	for _, line := range r.Header.Values("Cookie") {
		for cookie := range strings.SplitSeq(line, ";") {
			e.Cookies = append(e.Cookies, strings.TrimSpace(cookie))
		}
	}
	prefix, _, _ := strings.Cut(r.Host, ".")
	e.RequestContext = requestContext{DomainName: r.Host, DomainPrefix: prefix, RequestID: requestID(), RouteKey: "$default", Stage: "$default",
		HTTP: requestLine{Method: r.Method, Path: e.RawPath, Protocol: r.Proto, SourceIP: source, UserAgent: r.UserAgent()},
		Time: now.UTC().Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli()}
	e.Body = string(body)
	if len(body) > 0 && !isText(r.Header.Get("Content-Type"), body) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return e
}

// headers are in small letters; one that was sent twice is joined by commas.
func headers(r *http.Request, source string) map[string]string {
	out := map[string]string{"host": r.Host, "x-forwarded-for": source, "x-forwarded-proto": "http", "x-amzn-trace-id": "Root=1-00000000-000000000000000000000000"}
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		out["x-forwarded-port"] = port
	}
	if r.ContentLength >= 0 {
		out["content-length"] = fmt.Sprint(r.ContentLength)
	}
	for name, values := range r.Header {
		if name != "Cookie" && name != "Connection" {
			out[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	return out
}

// flat are the parameters of a query; one that was given twice is joined by commas.
func flat(u *url.URL) map[string]string {
	out := map[string]string{}
	for name, values := range u.Query() {
		out[name] = strings.Join(values, ",")
	}
	return out
}

// isText says what is passed on as it is. All else is encoded.
func isText(contentType string, body []byte) bool {
	media, _, _ := strings.Cut(contentType, ";")
	switch strings.TrimSpace(strings.ToLower(media)) {
	case "application/json", "application/xml", "application/javascript":
		return utf8.Valid(body)
	}
	return strings.HasPrefix(media, "text/") && utf8.Valid(body)
}

func requestID() string {
	raw := make([]byte, 12)
	rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw) + "="
}

func decode(text []byte) ([]byte, error) { return base64.StdEncoding.DecodeString(string(text)) }
