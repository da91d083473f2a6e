package title

import (
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// number is a value that can't be read as words of the author.
var number = lazyregexp.New(`^-?[0-9]+(\.[0-9]+)?$`)

// Line is a filled title as plain text, for what can't set values off in another way: they are in
// quotes, within which a quote is escaped, so that none can pass for words of the author. Numbers
// have no quotes. What does not show, or reorders, is spelled.
func Line(filled []Part) string {
	var b strings.Builder
	for _, p := range filled {
		if p.Argument == "" || number.MatchString(p.Text) {
			b.WriteString(p.Text)
		} else {
			b.WriteString(strconv.Quote(p.Text))
		}
	}
	return printable.Text(b.String())
}
