package lambdahttp_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/dormouse-dev/dormouse/internal/api/lambdahttp"
)

func TestALineSaysWhichInvocationAndWhichRequestItIsOf(t *testing.T) {
	var out bytes.Buffer
	log := lambdahttp.Logger(slog.New(slog.NewJSONHandler(&out, nil))).With("function", "api")
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { log.InfoContext(r.Context(), "served") })
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "inv-1"})
	if _, err := lambdahttp.Buffered(h, log)(ctx, read[gatewayEvent](t, "start-jwt.json")); err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["request_id"] != "inv-1" || line["gateway_request_id"] != "B1cD2eF3gH4iJ5k=" || line["function"] != "api" || bytes.Count(out.Bytes(), []byte("request_id")) != 2 {
		t.Errorf("%s", out.String())
	}
}
