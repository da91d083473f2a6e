package pace

import "time"

// Window is how long tokens that were taken ahead can be used. In any time t, all processes
// together let through at most what comes in t and in a Window, and one burst.
const Window = 5 * time.Second

// Rest is how long a bucket is left alone at least that had too few tokens, or did not answer: a
// flood that is refused costs each process one write per Rest.
const Rest = time.Second

// share is the part of the free tokens that one process takes ahead at most.
const share = 8

// Ahead is what one process knows of a bucket that many take from. It takes more tokens than it
// needs, so that most requests cost no write: twice as many each time, while it uses them up within
// a [Window] and the bucket has plenty.
//
// Its owner asks [Ahead.Use], then [Ahead.Resting], then the bucket for [Ahead.Want] tokens, and
// says with [Ahead.Took] or [Ahead.Fail] what came of it.
type Ahead struct {
	Full time.Time // when the bucket is full, as it was seen last

	tokens int
	until  time.Time // the tokens are worthless afterwards
	last   int       // how many were taken at once
	rested time.Time // when the bucket may be asked again
	err    error     // of the request to it
}

// Use uses n tokens that were taken ahead, if there are so many.
func (a *Ahead) Use(n int, now time.Time) bool {
	if n > a.tokens || !now.Before(a.until) {
		return false
	}
	a.tokens -= n
	return true
}

// Resting says whether the bucket is left alone: for how long, and with what error if it failed.
func (a *Ahead) Resting(now time.Time) (wait time.Duration, err error) {
	if !now.Before(a.rested) {
		return 0, nil
	}
	return a.rested.Sub(now), a.err
}

// Want is how many tokens to take in one write for a request that needs n.
func (a *Ahead) Want(r Rate, n int, now time.Time) int {
	if !now.Before(a.until) { // what was taken last lasted for a whole window
		return n
	}
	return max(n, min(2*a.last, r.Free(a.Full, now)/share))
}

// Took keeps what a request for n leaves of the tokens that were taken. Tokens from before are
// dropped.
func (a *Ahead) Took(taken, n int, full, now time.Time) {
	*a = Ahead{Full: full, tokens: taken - n, until: now.Add(Window), last: taken}
}

// Refused leaves the bucket alone that had too few tokens, and returns for how long.
func (a *Ahead) Refused(r Rate, n int, full, now time.Time) time.Duration {
	wait := max(r.Wait(full, now, n), Rest)
	*a = Ahead{Full: full, rested: now.Add(wait)}
	return wait
}

// Fail leaves the bucket alone that did not answer.
func (a *Ahead) Fail(err error, now time.Time) {
	*a = Ahead{Full: a.Full, rested: now.Add(Rest), err: err}
}
