// Terraform generates the Terraform module in deploy/terraform from the template of the CDK's
// construct, and checks it without Terraform: each expression is evaluated.
package main

import (
	"fmt"
	"os"
)

const usage = `usage: terraform generate TEMPLATE DIR    writes the module
       terraform check TEMPLATE DIR       checks it for the deployments on standard input`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	defer func() {
		if p, is := recover().(problem); is {
			err = fmt.Errorf("%s", p)
		}
	}()
	if len(args) != 3 {
		return fmt.Errorf("%s", usage)
	}
	t, err := readTemplate(args[1])
	if err != nil {
		return err
	}
	g := &generator{t: t, used: map[string]bool{}}
	switch args[0] {
	case "generate":
		return g.write(args[2])
	case "check":
		return check(g, args[2], os.Stdin)
	}
	return fmt.Errorf("%s", usage)
}
