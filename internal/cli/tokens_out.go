package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// tokenOut is the new file that a token is written to instead of standard output. With a shell's
// "> file", the shell would truncate the file before the command can refuse.
type tokenOut struct {
	file string
	made bool
}

// outFlag adds --out, which check validates.
func outFlag(cmd *cobra.Command, out *tokenOut) {
	cmd.Flags().StringVar(&out.file, "out", "", "write the token to this new `FILE`, readable only by its owner, instead of printing it")
}

func (o *tokenOut) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("out") && (o.file == "" || o.file == "-") {
		return cmdline.Usagef("--out needs the name of a new file; without --out, the token is printed")
	}
	return nil
}

// write writes the token to the file before its hash is stored in tokens. A kill in between leaves
// a token that is not valid, rather than a hash whose token is lost. If the hash can't be stored,
// the caller calls undo. An existing file is not changed.
func (o *tokenOut) write(token, tokens string) error {
	if o.file == "" {
		return nil
	}
	to, err := os.OpenFile(o.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return cmdline.Usagef("%s already exists and may hold a token; move it away or choose another file with --out. Nothing was changed", o.file)
	}
	if err != nil {
		return cmdline.Usagef("cannot write the token: %v; choose a file in an existing directory with --out. Nothing was changed", err)
	}
	o.made = true
	if same(to, tokens) {
		to.Close()
		return cmdline.Usagef("--out and --file name the same file; write the token to another file, such as NAME.token. Nothing was changed")
	}
	_, err = to.WriteString(token + "\n")
	return errors.Join(err, to.Sync(), to.Close())
}

// same reports whether an open file and a name are the same file.
func same(open *os.File, name string) bool {
	mine, err := open.Stat()
	other, gone := os.Stat(name)
	return err == nil && gone == nil && os.SameFile(mine, other)
}

// undo removes the file if write created it.
func (o *tokenOut) undo() {
	if o.made {
		os.Remove(o.file)
	}
}
