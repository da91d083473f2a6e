package cmdline

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// product is the name in the texts of this package and of those that use it.
const product = "dormouse"

// Name is what the program is called.
func (a *App) Name() string { return cmp.Or(a.Opts.Name, product) }

// Typed starts a command line to copy.
func (a *App) Typed() string { return cmp.Or(a.Opts.Typed, a.Name()) }

// useName puts the name of the program into every text of the tree. It remembers the commands, so
// that hints get the name as well.
func (a *App) useName(root *cobra.Command) {
	words := []string{"help", "--?[a-z]+"}
	for _, cmd := range root.Commands() {
		words = append(words, regexp.QuoteMeta(cmd.Name()))
	}
	// what a path precedes is a command of [App.Command], which has its name
	a.commands = regexp.MustCompile(`(^|[^\w/\\])` + product + ` (` + strings.Join(words, "|") + `)\b`)
	if a.Name() != product {
		a.renameAll(root)
	}
}

func (a *App) renameAll(cmd *cobra.Command) {
	name := func(text string) string { return a.named(text, a.Name()) }
	cmd.Short, cmd.Long, cmd.Example = name(cmd.Short), name(cmd.Long), name(cmd.Example)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = name(f.Usage) })
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Usage = name(f.Usage) })
	for _, below := range cmd.Commands() {
		a.renameAll(below)
	}
}

// named is a help text or an error in which commands of the product are those of this program:
// "dormouse runs" becomes "desk runs". Text that is printed may quote models and people, so it must
// not go through here: what prints it takes the name from [App.Typed].
func (a *App) named(text, name string) string {
	if a.commands == nil || name == product {
		return text
	}
	return a.commands.ReplaceAllString(text, "${1}"+strings.ReplaceAll(name, "$", "$$")+" $2")
}
