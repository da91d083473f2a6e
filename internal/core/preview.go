package core

// MostPreview is how many bytes of a preview are kept.
const MostPreview = 4 << 10

// Preview is what an approver is shown of what a call would do, in the words of the agent's author
// or of a tool that reads what is there now. It is journaled with the suspension, so that everyone
// who reads the question reads the same, and [Fingerprint] covers it.
type Preview struct {
	Text   string `json:"text,omitempty"`
	Failed string `json:"failed,omitempty"` // why there is no text, as a sentence
	Tool   string `json:"tool,omitempty"`   // that read; empty for a template
}
