package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// tokenOut is where a new token goes, if not to standard output: a file that was not there. A shell
// that is told to write what the command prints empties the file before the command can say no.
type tokenOut struct {
	file string
	made bool
}

// outFlag adds the flag, which check reads.
func outFlag(cmd *cobra.Command, out *tokenOut) {
	cmd.Flags().StringVar(&out.file, "out", "", "write the token to this new `FILE`, readable only by its owner, instead of printing it")
}

func (o *tokenOut) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("out") && (o.file == "" || o.file == "-") {
		return cmdline.Usagef("--out names a new file for the token; leave it out to have the token printed")
	}
	return nil
}

// write puts the token into the file before its hash is stored in tokens: a kill in between leaves
// a token that lets nobody in, and not a hash whose token is lost. Whoever then cannot store the
// hash calls undo. A file that is there is not touched.
func (o *tokenOut) write(token, tokens string) error {
	if o.file == "" {
		return nil
	}
	to, err := os.OpenFile(o.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return cmdline.Usagef("%s is there already and may hold a token; name another file with --out, or move it away. Nothing was changed", o.file)
	}
	if err != nil {
		return cmdline.Usagef("the token cannot be written: %v; name a file in a directory that is there with --out. Nothing was changed", err)
	}
	o.made = true
	if same(to, tokens) {
		to.Close()
		return cmdline.Usagef("--out names the file of the hashes; the token needs a file of its own, such as NAME.token. Nothing was changed")
	}
	_, err = to.WriteString(token + "\n")
	return errors.Join(err, to.Sync(), to.Close())
}

// same says whether an open file is the one of that name, by whatever way it is named.
func same(open *os.File, name string) bool {
	mine, err := open.Stat()
	other, gone := os.Stat(name)
	return err == nil && gone == nil && os.SameFile(mine, other)
}

// undo takes the file away again, if it was made here.
func (o *tokenOut) undo() {
	if o.made {
		os.Remove(o.file)
	}
}
