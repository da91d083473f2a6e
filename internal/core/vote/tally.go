package vote

// Say is what a person has said on a question.
type Say int

const (
	Spent Say = iota // on another stage of the same question: may not vote on this one
	Yes
	No
	Edit // yes, with other arguments: no one votes on the old ones any more
	// created a link by which another person has voted: may not vote too, because the creator
	// of a link can use it
	Minted
)

// Tally is what has been said on one question, by the key of the person who said it. It is written
// with each vote, by the one who stores it; the owner of the run writes it only in the commits that
// open and close the question.
type Tally map[string]Say

// Count is how many people have said it.
func (t Tally) Count(what Say) (n int) {
	for _, said := range t {
		if said == what {
			n++
		}
	}
	return n
}

// Standing is what the votes come to.
type Standing int

const (
	Open Standing = iota
	Approved
	Denied
	Edited
)

// Standing returns what the votes come to, given how many approve and how many deny. The store
// accepts no vote on a question that is not open.
func (t Tally) Standing(need, deny int) Standing {
	switch {
	case t.Count(Edit) > 0:
		return Edited
	case t.Count(Yes) >= need:
		return Approved
	case t.Count(No) >= deny:
		return Denied
	}
	return Open
}

// Takes says whether a vote of a person would be stored: the condition that every store enforces.
// Maker is who made the link that the person votes by; "" without a link.
func (t Tally) Takes(voter, maker string, need, deny int) bool {
	_, voted := t[voter]
	said, known := t[maker]
	return !voted && (!known || said == Minted) && t.Standing(need, deny) == Open
}

// Add counts a vote that is taken.
func (t Tally) Add(voter, maker string, say Say) {
	if t[voter] = say; maker != "" {
		t[maker] = Minted
	}
}
