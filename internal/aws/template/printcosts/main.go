// Command printcosts prints what a stack on AWS costs, from template.yaml and its parameters:
//
//	go run ./internal/aws/template/printcosts [--json] [--step-seconds 3] [NAME=VALUE...]
//
// The prices are those of prices.json in package costs; what models cost is left out.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
	"github.com/dormouse-dev/dormouse/internal/aws/template/costs"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "costs:", err)
		os.Exit(1)
	}
}

func run() error {
	asJSON := flag.Bool("json", false, "print JSON")
	file := flag.String("template", "template.yaml", "the template")
	seconds := flag.Float64("step-seconds", 3, "how long a step takes, model included")
	flag.Parse()
	parameters := map[string]string{}
	for _, one := range flag.Args() {
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			return fmt.Errorf("%q is not a parameter; use the form StepMemory=256", one)
		}
		parameters[name] = value
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	t, err := template.Parse(text)
	if err != nil {
		return err
	}
	b, err := costs.Of(t, parameters, *seconds)
	if err != nil {
		return err
	}
	if *asJSON {
		fmt.Println(string(core.Encode(b)))
		return nil
	}
	fmt.Printf("Dollars in %s, list prices of %s, without models and free tiers; a step takes %v s.\n\n%s", b.Region, b.Date, *seconds, b.Table())
	return nil
}
