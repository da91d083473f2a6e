// Command tails measures the longest files and functions and the widest types of the project, and
// fails if one is beyond its limit. Tests and generated files do not count.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	asJSON := flag.Bool("json", false, "print JSON")
	root := flag.String("root", ".", "directory of the module")
	flag.Parse()
	code, err := run(os.Stdout, *root, *asJSON)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tails:", err)
		code = 2
	}
	os.Exit(code)
}

// run prints the measures and returns 1 if one is beyond its limit.
func run(w io.Writer, root string, asJSON bool) (int, error) {
	s, err := survey(root)
	if err != nil {
		return 0, err
	}
	measures := s.measures()
	code := 0
	for _, m := range measures {
		if m.Value > m.Limit {
			code = 1
		}
	}
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return code, enc.Encode(measures)
	}
	for _, m := range measures {
		verdict := "ok"
		if m.Value > m.Limit {
			verdict = "BEYOND"
		}
		if _, err := fmt.Fprintf(w, "%-34s %6d  limit %6d  %-6s  %s\n", m.Name, m.Value, m.Limit, verdict, m.Where); err != nil {
			return code, err
		}
	}
	return code, nil
}
