package dormouse

// Program is the code that you add to the runtime. Agent files name its parts; a part that no agent
// names does nothing. Every process of one deployment needs the same program: which calls are
// valid, and which of them may run, must not depend on the process that answers.
type Program struct {
	// Name is the name of the command in its usage, version, hints, shell completion and log.
	// It is one word of letters, digits, "-", "_" and "."; with any other name each command
	// fails. If empty, it is the file name of the executable, or "dormouse" in a function on
	// AWS and in a test.
	Name string

	// Version is what the version command prints. Empty means the version of the main module,
	// as go install records it, or "devel".
	Version string

	Tools    []Tool
	Hooks    []Hook
	Effects  []Effect
	Memories []Memory

	// Control yields and cancels runs from outside their agents. The zero value does neither.
	Control RunControl

	// Open returns the parts that keep files, which are added to the parts above. It may be
	// nil. The runtime calls it once for each data directory, before it serves anything from
	// that directory, which may not exist yet. Each server in a test of agents has a separate
	// data directory. In a function on AWS the data directory is the one for temporary files,
	// which lasts as long as the process.
	Open func(data string) (Program, error)
}
