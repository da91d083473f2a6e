// Command voice reads what people read in this project, and prints each place that breaks one of
// its two rules: comments fit in 100 columns, and texts use the terms of the field instead of the
// words listed in words.go as retired. It exits with 1 if it found one.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "directory of the module")
	flag.Parse()
	found, err := survey(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "voice:", err)
		os.Exit(2)
	}
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		fmt.Fprintf(os.Stderr, "voice: %d places\n", len(found))
		os.Exit(1)
	}
}
