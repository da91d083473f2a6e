package dormouse

// Program is what a program brings to the runtime. Agent files name its parts; a part that no agent
// names does nothing. Every process of one deployment needs the same program: which calls are
// valid, and which may run, must not depend on who is asked.
type Program struct {
	// Name is what people call the program: in usage, its version, hints, completion, and the
	// commands in its log. It is one word of letters, digits, "-", "_" and "."; any other makes
	// each command fail. Empty is the file name that the executable was started by, and
	// "dormouse" where there is none that a person types: in a function on AWS, and in a test.
	Name string

	// Version is what the version command prints. Empty means the version of the main module,
	// as go install records it, or "devel".
	Version string

	Tools    []Tool
	Hooks    []Hook
	Effects  []Effect
	Memories []Memory

	// Control yields and cancels runs from outside. The zero value does neither.
	Control RunControl

	// Open returns parts that keep files, which are then added to those above; nil if there are
	// none. It is called once for each data directory, before anything is served from it, and
	// the directory may not exist yet. Every server of a test of agents has a data directory of
	// its own. In a function on AWS it is the directory for temporary files, which lasts as
	// long as its process.
	Open func(data string) (Program, error)
}
