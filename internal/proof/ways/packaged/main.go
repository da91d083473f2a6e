// Packaged prints the template of a release for CloudFormation alone: packaged VERSION, in the
// repository's directory.
package main

import (
	"fmt"
	"os"

	"github.com/dormouse-dev/dormouse/internal/proof/ways"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: packaged VERSION")
	}
	from, err := os.ReadFile("deploy/cdk/lib/template.json")
	if err != nil {
		return err
	}
	made, err := ways.Packaged(from, args[0])
	if err == nil {
		_, err = os.Stdout.Write(made)
	}
	return err
}
