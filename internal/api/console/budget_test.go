package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

const (
	mostOfAVisit     = 20_000 // bytes that a browser gets: the page, its style and its script
	mostOfTheScript  = 6_000
	linesOfTheScript = 300
)

var assetOf = regexp.MustCompile(`(?:href|src)="(/console/[0-9a-f]{16}\.(css|js))"`)

// fetched is what the server sends to a browser that takes gzip: how many bytes, and what they say.
func (b *browser) fetched(path string) (sent int, text string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.url+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	r.Header.Set("Accept-Encoding", "gzip, deflate, br")
	got, err := b.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d, %v", path, got.StatusCode, err)
	}
	if got.Header.Get("Content-Encoding") != "gzip" {
		return len(raw), string(raw)
	}
	open, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		b.Fatal(err)
	}
	whole, err := io.ReadAll(open)
	if err != nil {
		b.Fatal(err)
	}
	return len(raw), string(whole)
}

// The first page that a person opens is small, as it is sent: a phone on a slow line has it soon.
func TestTheFirstPageIsSmall(t *testing.T) {
	s := newServer(t)
	call := payment("430")
	call.Said, call.Deadline = "Two photos show the broken shade, and the order was paid 9 days ago.", s.clock.Now().Add(40*time.Hour).UnixMilli()
	call.Preview = &core.Preview{Text: "Balance of A-17: 430 EUR paid, 0 EUR refunded", Tool: "read_balance"}
	var sus string
	for range 10 {
		_, sus = s.waits(`"My lamp of order A-17 arrived broken, I would like my 430 euros back."`, call)
	}
	olga := s.signedIn("olga")
	for _, path := range []string{"/", "/questions/" + sus} {
		page, text := olga.fetched(path)
		found := assetOf.FindAllStringSubmatch(text, -1)
		sizes := map[string]int{}
		for _, asset := range found {
			sizes[asset[2]], _ = olga.fetched(asset[1])
		}
		if len(found) != 2 || len(sizes) != 2 {
			t.Fatalf("%s has the assets %q, and not one style and one script", path, found)
		}
		all := page + sizes["css"] + sizes["js"]
		t.Logf("%s: %d bytes as sent: page %d, style %d, script %d", path, all, page, sizes["css"], sizes["js"])
		if all > mostOfAVisit || sizes["js"] > mostOfTheScript {
			t.Errorf("a first visit may take %d bytes, and its script %d", mostOfAVisit, mostOfTheScript)
		}
	}
	script, err := os.ReadFile("console.js")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(script), "\n"); lines >= linesOfTheScript {
		t.Errorf("the script has %d lines, and may have fewer than %d", lines, linesOfTheScript)
	}
}

// An asset says the same however it is sent, and who does not take it compressed gets it as it is.
func TestAssetsAreCompressedForThoseWhoTakeIt(t *testing.T) {
	s := newServer(t)
	b := s.browser()
	_, page := b.fetched("/signin")
	for _, asset := range assetOf.FindAllStringSubmatch(page, -1) {
		_, text := b.fetched(asset[1])
		for accepts, want := range map[string]string{"identity": "", "gzip": "gzip", "GZIP;q=0.5": "gzip", "br, gzip": "gzip", "gzip;q=0": "", "gzip; q=0.000, br": "", "br": "", "xgzip": ""} {
			got := b.do(http.MethodGet, asset[1], nil, map[string]string{"Accept-Encoding": accepts})
			if is := got.header.Get("Content-Encoding"); is != want || got.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%q is answered with the encoding %q, want %q; Vary is %q", accepts, is, want, got.header.Get("Vary"))
			}
			if want == "" && got.text != text {
				t.Errorf("%q gets another text of %s", accepts, asset[1])
			}
		}
	}
}
