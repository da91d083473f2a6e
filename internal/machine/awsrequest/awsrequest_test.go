package awsrequest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/encoding/httpbinding"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/machine/awsrequest"
	"github.com/dormouse-dev/dormouse/internal/secret/ssmsecret"
	"github.com/dormouse-dev/dormouse/internal/tool/lambdatool"
)

func credentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret", SessionToken: "session"}, nil
}

// sent is a request as the service gets it.
type sent struct {
	Line, Body string
	Header     map[string]string
	Scope      string // of the signature: region, service
}

// recorder notes requests and answers them.
type recorder struct {
	got    []sent
	answer []http.HandlerFunc // one for each request; the last is that of all others
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	s := sent{Line: q.Method + " " + q.URL.EscapedPath() + "?" + q.URL.RawQuery, Body: string(body), Header: map[string]string{}}
	for _, name := range []string{"Content-Type", "X-Amz-Target", "X-Amz-Invocation-Type", "X-Amz-Client-Context", "X-Amz-Security-Token", "X-Amzn-Trace-Id"} {
		if v := q.Header.Get(name); v != "" {
			s.Header[name] = v
		}
	}
	if _, err := time.Parse("20060102T150405Z", q.Header.Get("X-Amz-Date")); err != nil {
		s.Header["X-Amz-Date"] = err.Error()
	}
	if credential := strings.Split(q.Header.Get("Authorization"), "/"); len(credential) > 4 {
		// without the day
		s.Scope = credential[0] + " " + strings.Join(credential[2:4], "/")
	}
	r.got = append(r.got, s)
	r.answer[min(len(r.got), len(r.answer))-1](w, q)
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func refuses(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set("X-Amzn-Errortype", header)
		}
		w.Header().Set("X-Amzn-Requestid", "req-1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func newService(t *testing.T, answer ...http.HandlerFunc) (*recorder, aws.Config) {
	t.Helper()
	r := &recorder{answer: answer}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), Credentials: aws.CredentialsProviderFunc(credentials)}
}

// TestTheRequestsAreThoseOfTheSDK sends each request with the SDK's client as well.
func TestTheRequestsAreThoseOfTheSDK(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "step")
	t.Setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
	t.Run("Invoke", func(t *testing.T) {
		for _, i := range []lambdatool.Invocation{
			{Function: "payments", Event: []byte(`{"amount": 1.10}`), Context: "e30="},
			{Function: "arn:aws:lambda:eu-central-1:123456789012:function:payments", Qualifier: "$LATEST", Event: []byte(`{}`), Context: "e30="},
		} {
			r, config := newService(t, says(`"paid"`))
			out, err := lambdatool.Service(awsrequest.New("lambda", config)).Invoke(t.Context(), i)
			if err != nil || string(out.Payload) != `"paid"` || out.Failed {
				t.Fatalf("%+v, %v", out, err)
			}
			in := &lambda.InvokeInput{FunctionName: &i.Function, InvocationType: "RequestResponse", Payload: i.Event, ClientContext: &i.Context}
			if i.Qualifier != "" {
				in.Qualifier = &i.Qualifier
			}
			if _, err := lambda.NewFromConfig(config).Invoke(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			same(t, r)
		}
	})
	t.Run("GetFunctionConcurrency", func(t *testing.T) {
		r, config := newService(t, says(`{"ReservedConcurrentExecutions":0}`))
		function := "arn:aws:lambda:eu-central-1:123456789012:function:step"
		if out, err := awsrequest.New("lambda", config).Get(t.Context(), awsrequest.Request{Path: "/2019-09-30/functions/" + httpbinding.EscapePath(function, true) + "/concurrency"}); err != nil || len(out.Body) == 0 {
			t.Fatal(out, err)
		}
		if _, err := lambda.NewFromConfig(config).GetFunctionConcurrency(t.Context(), &lambda.GetFunctionConcurrencyInput{FunctionName: &function}); err != nil {
			t.Fatal(err)
		}
		same(t, r)
	})
	t.Run("GetParameter", func(t *testing.T) {
		r, config := newService(t, says(`{"Parameter":{"Value":"v"}}`))
		source := ssmsecret.New(awsrequest.New("ssm", config), ssmsecret.Options{Path: "/dormouse/test/", Clock: enginetest.AtMilli(0)})
		if v, err := source(t.Context(), "TOKEN"); err != nil || v != "v" {
			t.Fatal(v, err)
		}
		in := &ssm.GetParameterInput{Name: aws.String("/dormouse/test/TOKEN"), WithDecryption: aws.Bool(true)}
		if _, err := ssm.NewFromConfig(config).GetParameter(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		same(t, r)
	})
}

func same(t *testing.T, r *recorder) {
	t.Helper()
	if len(r.got) != 2 || r.got[0].Scope == "" {
		t.Fatalf("%+v", r.got)
	}
	if diff := cmp.Diff(r.got[1], r.got[0]); diff != "" {
		t.Errorf("(-of the SDK +ours):\n%s", diff)
	}
}

// TestTheEndpointsAreThoseOfTheSDK of each partition.
func TestTheEndpointsAreThoseOfTheSDK(t *testing.T) {
	for _, region := range []string{"us-east-1", "eu-central-1", "ap-southeast-7", "cn-north-1", "us-gov-west-1", "us-iso-east-1", "us-isob-east-1", "eusc-de-east-1"} {
		functions, err := lambda.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), lambda.EndpointParameters{Region: &region})
		if err != nil {
			t.Fatal(err)
		}
		parameters, err := ssm.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), ssm.EndpointParameters{Region: &region})
		if err != nil {
			t.Fatal(err)
		}
		for service, want := range map[string]string{"lambda": functions.URI.String(), "ssm": parameters.URI.String()} {
			var asked string
			client := awsrequest.New(service, aws.Config{Region: region, Credentials: aws.CredentialsProviderFunc(credentials),
				HTTPClient: smithyDo(func(q *http.Request) (*http.Response, error) {
					asked = q.URL.Scheme + "://" + q.URL.Host
					return nil, errors.New("not sent")
				})})
			if _, err := client.Post(t.Context(), awsrequest.Request{Path: "/"}); err == nil || asked != want {
				t.Errorf("%s in %s: asked %s, %v; the SDK asks %s", service, region, asked, err, want)
			}
		}
	}
}

type smithyDo func(*http.Request) (*http.Response, error)

func (f smithyDo) Do(q *http.Request) (*http.Response, error) { return f(q) }

// TestARefusalIsTheErrorOfTheSDK compares code, message and status.
func TestARefusalIsTheErrorOfTheSDK(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"a header":                refuses(404, "ResourceNotFoundException:http://internal.amazon.com/coral/", `{"Type":"User","message":"no such function"}`),
		"a type":                  refuses(400, "", `{"__type":"com.amazonaws.ssm#ParameterNotFound","message":"none"}`),
		"a code":                  refuses(400, "", `{"code":"ThrottlingException","message":"slow down"}`),
		"a code that is a number": refuses(400, "", `{"code":7}`),
		"both":                    refuses(429, "TooManyRequestsException", `{"__type":"Other"}`),
		"nothing":                 refuses(502, "", ``),
	} {
		_, config := newService(t, answer)
		_, ours := awsrequest.New("ssm", config).PostOnce(t.Context(), awsrequest.Request{Path: "/"})
		config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
		_, theirs := ssm.NewFromConfig(config).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("n")})
		if got, want := words(t, ours), words(t, theirs); got != want {
			t.Errorf("%s: %+v; the SDK says %+v", name, got, want)
		}
	}
}

type said struct {
	code, request string
	status        int
}

func words(t *testing.T, err error) said {
	t.Helper()
	refusal, isRefusal := errors.AsType[smithy.APIError](err)
	response, isResponse := errors.AsType[*awshttp.ResponseError](err)
	if !isRefusal || !isResponse {
		t.Fatalf("%v is no refusal", err)
	}
	return said{refusal.ErrorCode(), response.ServiceRequestID(), response.HTTPStatusCode()}
}

func TestWhatMaySucceedIsSentAgain(t *testing.T) {
	broken := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, tt := range map[string]struct {
		first http.HandlerFunc
		sent  int
	}{
		"a throttle":                   {refuses(400, "ThrottlingException", ""), 2},
		"a fault of the service":       {refuses(500, "InternalServerError", ""), 2},
		"an answer that does not come": {broken, 2},
		"a refusal":                    {refuses(400, "AccessDeniedException", ""), 1},
	} {
		r, config := newService(t, tt.first, says("{}"))
		config.Retryer = func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Nanosecond })
		}
		_, err := awsrequest.New("ssm", config).Post(t.Context(), awsrequest.Request{Path: "/"})
		if len(r.got) != tt.sent || (err == nil) != (tt.sent == 2) {
			t.Errorf("%s: sent %d times, %v", name, len(r.got), err)
		}
	}
}

func TestNothingIsSentWithoutCredentials(t *testing.T) {
	r, config := newService(t, says("{}"))
	config.Credentials = nil
	if _, err := awsrequest.New("ssm", config).Post(t.Context(), awsrequest.Request{Path: "/"}); err == nil || len(r.got) > 0 {
		t.Errorf("sent %+v, %v", r.got, err)
	}
}
