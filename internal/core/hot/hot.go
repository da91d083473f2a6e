// Package hot names the members of a head that every store keeps apart, in columns or attributes,
// since conditions or indexes read them.
package hot

// Members has a place for each of them. A store embeds it in what it encodes as the rest of a
// head, one level above the head itself: JSON takes the shallower of two members, and one that is
// nil is left out.
type Members struct {
	Tenant    *Hidden `json:"tenant,omitempty"`
	Thread    *Hidden `json:"thread,omitempty"`
	Run       *Hidden `json:"run,omitempty"`
	Agent     *Hidden `json:"agent,omitempty"`
	Schema    *Hidden `json:"v,omitempty"`
	Status    *Hidden `json:"st,omitempty"`
	Epoch     *Hidden `json:"epoch,omitempty"`
	Rev       *Hidden `json:"rev,omitempty"`
	CID       *Hidden `json:"cid,omitempty"`
	Seq       *Hidden `json:"seq,omitempty"`
	Seg       *Hidden `json:"seg,omitempty"`
	Ev        *Hidden `json:"ev,omitempty"`
	Sigs      *Hidden `json:"sigs,omitempty"`
	Lease     *Hidden `json:"lease,omitempty"`
	Claim     *Hidden `json:"claim,omitempty"`
	Tries     *Hidden `json:"tries,omitempty"`
	Deadline  *Hidden `json:"dl,omitempty"`
	NotBefore *Hidden `json:"not_before,omitempty"`
	Pending   *Hidden `json:"nsus,omitempty"`
	Born      *Hidden `json:"born,omitempty"`
	Due       *Hidden `json:"due,omitempty"`
	Calls     *Hidden `json:"calls,omitempty"`
	TimedOut  *Hidden `json:"timed,omitempty"`
	Inbox     *Hidden `json:"inbox,omitempty"`
	Votes     *Hidden `json:"q,omitempty"`
}

// Hidden is the place of a member that is stored elsewhere. It is always nil.
type Hidden struct{}
