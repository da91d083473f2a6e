package bedrock

import (
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
)

// Limits of what is read from Bedrock, in bytes. A token of a stream is a frame of a few hundred
// bytes.
const (
	mostRefused  = 1 << 20
	mostWhole    = 64 << 20
	mostStreamed = 128 << 20
)

// bounded is an HTTP client that ends longer answers with [errTooLong].
type bounded struct{ bedrockruntime.HTTPClient }

// Do implements [bedrockruntime.HTTPClient].
func (b bounded) Do(req *http.Request) (*http.Response, error) {
	resp, err := b.HTTPClient.Do(req)
	if err != nil || resp == nil || resp.Body == nil {
		return resp, err
	}
	most := int64(mostWhole)
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices:
		most = mostRefused
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "application/vnd.amazon.eventstream"):
		most = mostStreamed
	}
	resp.Body = &boundedBody{resp.Body, most}
	return resp, nil
}

type boundedBody struct {
	io.ReadCloser
	rest int64
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.rest <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.rest)])
	b.rest -= int64(n)
	return n, err
}
