package dormouse_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pictures are where the tests of the console keep how its screens look, and compare them.
const pictures = "internal/api/httpapi/browsertest/testdata/pictures/"

var shownPicture = regexp.MustCompile(`(?:!\[([^\]]*)\]\(|<img src=")([^")]+\.png)(?:"[^>]* alt="([^"]+)")?`)

// What the documentation shows of the console is what the tests have compared it with, and is said
// in words too.
func TestPicturesInTheDocumentationAreThoseOfTheTests(t *testing.T) {
	shown := 0
	for path, text := range markdown(t) {
		for _, m := range shownPicture.FindAllStringSubmatch(text, -1) {
			at := filepath.ToSlash(filepath.Join(filepath.Dir(path), m[2]))
			if _, err := os.Stat(at); err != nil || !strings.HasPrefix(at, pictures) || m[1]+m[3] == "" {
				t.Errorf("%s shows %s, described as %q, %v", path, m[2], m[1]+m[3], err)
			}
			shown++
		}
	}
	if shown < 3 {
		t.Errorf("the documentation shows %d pictures", shown)
	}
}
