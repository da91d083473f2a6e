// Command testrun runs go test and shows how far it is: one line per package, "package k of n".
// What failed is printed in full, with the seeds that repeat it; what was skipped is listed at the
// end with its reason. It exits with the code of go test.
//
//	testrun [flags of go test] packages
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		code = 2
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, errs io.Writer) (code int, err error) {
	began := time.Now()
	flags, patterns := split(args)
	listed, err := output(ctx, append([]string{"list"}, patterns...), errs)
	if err != nil {
		return 0, err
	}
	r := newReport(out, len(strings.Fields(listed)))
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json"}, flags, patterns)...)
	cmd.Stderr = errs
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		r.line(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	err = cmd.Wait()
	if cmd.ProcessState == nil {
		return 0, err
	}
	r.end(time.Since(began))
	return cmd.ProcessState.ExitCode(), nil
}

// split tells the flags from the packages. A flag with a value has it behind "=".
func split(args []string) (flags, patterns []string) {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			flags = append(flags, arg)
		} else {
			patterns = append(patterns, arg)
		}
	}
	return flags, patterns
}

func output(ctx context.Context, args []string, errs io.Writer) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = errs
	text, err := cmd.Output()
	return string(text), err
}
