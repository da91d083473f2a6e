package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestAWrongCommandLineIsSaidAndNothingIsStarted(t *testing.T) {
	for args, want := range map[string]string{
		"--only nothing":                        `there is no suite "nothing"`,
		"doors":                                 `"doors" is too much`,
		"--kills 1":                             "--kills is a rate",
		"--api http://127.0.0.1:1":              "--api needs --table",
		"--table t":                             "go with --api",
		"--limit -1":                            "--limit is a number from 1",
		"--limit 0":                             "or 0 for all of --recordings",
		"servers":                               "usage: go run ./internal/proof/e2e servers [dynamodb|sqs|openid|NAME] -- COMMAND",
		"--for soon":                            "invalid value",
		"--for 0s":                              "--for is a time",
		"--lose 1":                              "are rates from 0 to below 1",
		"--only doors,nothing --dynamodb no-db": "there is no suite",
	} {
		var said bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), io.Discard, &said); code != exitUsage || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit %d, and it says %q, not %q", args, code, said.String(), want)
		}
	}
}

func TestASeedIsMadeIfNoneIsGiven(t *testing.T) {
	o, err := read([]string{"--only", "demo,doors"}, io.Discard)
	if err != nil || o.seed == 0 || len(o.names()) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := read([]string{"--seed", "7"}, io.Discard); err != nil || o.seed != 7 || o.names() != nil {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestMessagesAreDoubledByTheSeed(t *testing.T) {
	n := 0
	first, second := doubler(7, 0.05), doubler(7, 0.05)
	for range 2000 {
		a, b := first("m"), second("m")
		if a != b {
			t.Fatal("one seed, two fates")
		}
		if a {
			n++
		}
	}
	if n < 50 || n > 200 {
		t.Errorf("%d of 2000 messages are doubled", n)
	}
}

func TestTheHelpSaysWhatForAndNamesTheVerb(t *testing.T) {
	var said bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, io.Discard, &said); code != exitOK {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"what would be deployed works", "servers [dynamodb|sqs|openid|NAME] -- COMMAND", "docs/contributing/emulators.md", "-gate", "doors, demo, notices, iam"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is missing in\n%s", want, said.String())
		}
	}
}

func TestAServerThatIsNotRunIsAFailureInCI(t *testing.T) {
	for _, c := range []struct {
		ran, failed, not int
		must             bool
		want             int
	}{
		{4, 0, 0, true, exitOK},
		{3, 0, 1, false, exitOK},
		{3, 0, 1, true, exitFailed},
		{3, 1, 0, false, exitFailed},
		{0, 0, 4, false, exitFailed},
	} {
		var out bytes.Buffer
		n := outcome{ran: c.ran, failed: c.failed, not: c.not}
		if code := n.exit(&out, c.must); code != c.want {
			t.Errorf("%+v: exit %d, and it says %q", c, code, out.String())
		}
		if said := strings.Contains(out.String(), "with CI=true all of them must run"); said != (c.must && c.not > 0) {
			t.Errorf("%+v says %q", c, out.String())
		}
	}
}
