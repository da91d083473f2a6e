package bodies

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// maxForm is more than the longest answer that a page takes.
const maxForm = 64 << 10

// Form reads a form of a page, each field once. from is what the person can open again when the
// form can't be read: the link, the page.
func Form(w http.ResponseWriter, r *http.Request, from string) (url.Values, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if errors.As(err, new(*http.MaxBytesError)) {
		return nil, &refusal.Error{Code: problems.CodeTooLarge, Detail: "the answer is longer than 64 KiB; shorten it"}
	}
	form, bad := url.ParseQuery(string(text))
	if err != nil || bad != nil {
		return nil, Malformed("the form can't be parsed; open %s again", from)
	}
	for name, values := range form {
		if len(values) > 1 || !utf8.ValidString(values[0]) {
			return nil, Malformed("the form field %s is repeated or not UTF-8; open %s again", Clipped(name), from)
		}
	}
	return form, nil
}
