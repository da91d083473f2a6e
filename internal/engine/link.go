package engine

// Link is the record of an approval link: what it may answer, for whom it was made, by whom, and
// until when. The link itself is not in it, so a reader of the store cannot answer with what is
// stored.
type Link struct {
	Tenant string `json:"-"`
	Run    string `json:"-"`
	ID     string `json:"id"`

	Suspension string `json:"sus"`
	Call       string `json:"call"`
	Tool       string `json:"tool,omitempty"`
	For        string `json:"for"` // the recipient, as the maker named it

	// name of the token it was made with; empty where no token is needed
	Maker string `json:"by,omitempty"`
	// of that token, so that another token of the same name does not count as it
	Fingerprint string `json:"fp,omitempty"`
	// the endpoint of notices that the server made it for, without a token; empty of others
	Endpoint string `json:"ep,omitempty"`
	// of a webhook of the tenant: digest of where it sent the link
	Address string `json:"at,omitempty"`

	// of a link that requires a code: the address that codes are sent to
	Mail string `json:"mail,omitempty"`

	Edit bool `json:"edit,omitempty"` // it may change the arguments of its call
	// what its bearer has to show besides; see [RequireToken] and [RequireCode]
	Require string `json:"require,omitempty"`

	Made     int64 `json:"made"`
	Expires  int64 `json:"expires"`
	Deadline int64 `json:"deadline,omitempty"` // of the call; 0: it has none

	// what is known of its one-time codes, for the frontend alone; it holds no code
	Code string `json:"-"`

	Revoked   int64  `json:"-"` // 0: it is not
	RevokedBy string `json:"-"`
}

// RequireToken is what a link requires that is answered with an access token besides. The decision
// is that of the token's principal, and the link gives it no rights.
const RequireToken = "token"

// RequireSignIn is what a link requires whose bearer signs in at an identity provider. The decision
// is that of the person who did.
const RequireSignIn = "sign_in"

// RequireCode is what a link requires that is answered with a one-time code besides, which is sent
// to the mail address of the link. The decision is that of the link's recipient, whose address is
// then verified.
const RequireCode = "code"

// Ends is when the link cannot answer any more: when it expires, or at the deadline of its call.
func (l Link) Ends() int64 {
	if l.Deadline != 0 {
		return min(l.Expires, l.Deadline)
	}
	return l.Expires
}

// LinkKept is how long, in milliseconds, a record is kept after its link has expired, so that
// callers can look up which links were sent to whom.
const LinkKept = 30 * 24 * 60 * 60 * 1000

// Gone is when a store may delete the record.
func (l Link) Gone() int64 { return l.Expires + LinkKept }
