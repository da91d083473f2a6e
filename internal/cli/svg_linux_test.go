package cli_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// A picture of a terminal: what a program wrote, with its colours, as SVG that is readable on light
// and on dark pages.
const (
	svgColumns    = 100
	svgCharacter  = 8.0 // width
	svgLine       = 19  // height
	svgMargin     = 18
	svgTitleLines = 30 // height of the bar above
)

const svgStyle = `<style>
  .w{fill:#f6f8fa;stroke:#d0d7de} .b{fill:#d0d7de}
  text{font-family:ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;font-size:13.3px;fill:#1f2328;white-space:pre}
  .p{fill:#0550ae;font-weight:600} .c{font-weight:600} .bold{font-weight:600} .dim{fill:#656d76}
  .red{fill:#b42318} .green{fill:#116329} .yellow{fill:#8a4600} .cyan{fill:#0b6170}
  @media (prefers-color-scheme:dark){
    .w{fill:#0d1117;stroke:#30363d} .b{fill:#30363d}
    text{fill:#e6edf3} .p{fill:#79c0ff} .dim{fill:#9198a1}
    .red{fill:#ff7b72} .green{fill:#56d364} .yellow{fill:#e3b341} .cyan{fill:#56d4dd}
  }
</style>
`

// svg draws lines of a session. A line that begins with "$ " is a command.
func svg(title string, lines []string) string {
	width := 2*svgMargin + int(svgColumns*svgCharacter)
	height := svgTitleLines + svgLine*len(lines) + svgMargin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n<title>%s</title>\n", width, height, width, height,
		html.EscapeString(title))
	b.WriteString(svgStyle)
	fmt.Fprintf(&b, `<rect class="w" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`+"\n", width-1, height-1)
	for i := range 3 {
		fmt.Fprintf(&b, `<circle class="b" cx="%d" cy="15" r="5"/>`+"\n", svgMargin+5+18*i)
	}
	for i, line := range lines {
		if line != "" {
			fmt.Fprintf(&b, `<text x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", svgMargin, svgTitleLines+svgLine*(i+1)-4, svgSpans(line))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// sgr is a sequence that changes how the text after it looks.
var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

var svgClasses = map[string]string{"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}

// svgSpans draws one line.
func svgSpans(line string) string {
	if command, is := strings.CutPrefix(line, "$ "); is {
		return `<tspan class="p">$ </tspan><tspan class="c">` + html.EscapeString(command) + `</tspan>`
	}
	var b strings.Builder
	class := ""
	draw := func(text string) {
		switch {
		case text == "":
		case class == "":
			b.WriteString(html.EscapeString(text))
		default:
			fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, class, html.EscapeString(text))
		}
	}
	for at := sgr.FindStringSubmatchIndex(line); at != nil; at = sgr.FindStringSubmatchIndex(line) {
		draw(line[:at[0]])
		class = svgClasses[line[at[2]:at[3]]]
		line = line[at[1]:]
	}
	draw(line)
	return b.String()
}
