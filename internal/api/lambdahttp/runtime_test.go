package lambdahttp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/api/lambdahttp"
)

// runtimeAPI stands for what invokes a function: it hands out one event, and shows the answer as it
// comes.
type runtimeAPI struct {
	event    []byte
	handed   chan struct{}
	answered chan *http.Request
	taken    chan struct{} // the test has read the answer
}

func (a *runtimeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/invocation/next") {
		select {
		case a.handed <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "inv-1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		_, _ = w.Write(a.event)
		return
	}
	a.answered <- r
	<-a.taken
	w.WriteHeader(http.StatusAccepted)
}

// What is flushed must be on its way to whoever reads before the handler writes more, through the
// client of the runtime too.
func TestAStreamLeavesTheProcessAsItIsWritten(t *testing.T) {
	event, err := json.Marshal(read[urlEvent](t, "stream-url.json"))
	if err != nil {
		t.Fatal(err)
	}
	api := &runtimeAPI{event: event, handed: make(chan struct{}, 1), answered: make(chan *http.Request), taken: make(chan struct{})}
	// never closed: the loop of the runtime would end the process
	server := httptest.NewServer(api)
	t.Setenv("AWS_LAMBDA_RUNTIME_API", strings.TrimPrefix(server.URL, "http://"))
	next := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_, _ = io.WriteString(w, "data: x\n\n")
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	go lambda.StartWithOptions(lambdahttp.Streamed(h, quiet))
	answer := <-api.answered
	defer close(api.taken)
	if media := answer.Header.Get("Content-Type"); media != "application/vnd.awslambda.http-integration-response" {
		t.Errorf("the answer is %s, and would not be streamed", media)
	}
	if status, headers := prelude(t, answer.Body); status != 200 || headers["Content-Type"] != "text/event-stream" {
		t.Errorf("%d %v", status, headers)
	}
	for range 3 {
		one := make([]byte, len("data: x\n\n"))
		if _, err := io.ReadFull(answer.Body, one); err != nil || string(one) != "data: x\n\n" {
			t.Fatalf("%q, %v", one, err)
		}
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) > 0 || answer.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "" {
		t.Errorf("%q, %v, %v", rest, err, answer.Trailer)
	}
}
