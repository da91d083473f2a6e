package hostile

// What the hasty program gives a caller; it is built with these.
const (
	headerTime = "1s"
	bodyTime   = "2s"
	answerTime = "4s"
)
