package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
)

//go:embed console.css
var ownStyle string

//go:embed console.js
var script string

var style = linkpage.Style() + ownStyle

// assets is where assets are. A gateway passes on everything below it.
const assets = "/console/"

// Paths of assets change with what they hold, so that browsers may keep them for ever.
var (
	stylePath  = assetPath(style, ".css")
	scriptPath = assetPath(script, ".js")
)

func assetPath(text, suffix string) string {
	sum := sha256.Sum256([]byte(text))
	return assets + hex.EncodeToString(sum[:8]) + suffix
}

// serveAsset answers with a text that never changes at its path, compressed for those that take it
// so. Pages aren't: they have secrets beside text of others, and their compressed length would give
// hints at them.
func serveAsset(media, text string) func(http.ResponseWriter, *httpapi.Visit) error {
	small := compressed(text)
	return func(w http.ResponseWriter, v *httpapi.Visit) error {
		body := []byte(text)
		w.Header().Set("Content-Type", media+"; charset=utf-8")
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Vary", "Accept-Encoding")
		if takesGzip(v.Header.Values("Accept-Encoding")) {
			w.Header().Set("Content-Encoding", "gzip")
			body = small
		}
		_, err := w.Write(body)
		return err
	}
}

func compressed(text string) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// takesGzip reads the header Accept-Encoding. A quality of 0 refuses.
func takesGzip(accepts []string) bool {
	for part := range strings.SplitSeq(strings.Join(accepts, ","), ",") {
		name, quality, _ := strings.Cut(part, ";")
		refused := strings.Trim(strings.ReplaceAll(quality, " ", ""), "0.") == "q="
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return !refused
		}
	}
	return false
}
