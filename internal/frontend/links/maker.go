// Package links makes, lists and revokes the signed links by which a person answers one call. What
// a link allows is decided where a decision is: in package frontend.
package links

import "github.com/dormouse-dev/dormouse/internal/frontend"

// Maker is the callers' side with the links.
type Maker struct{ *frontend.Frontend }

// New adds the links to a frontend.
func New(f *frontend.Frontend) *Maker { return &Maker{f} }
