package httpapi

// ownOrigin is the site of the public address. Where no token is needed there is none: a page of
// another program on that host would be let in with it.
func (a *api) ownOrigin() string {
	if a.keys == nil && a.gate == nil {
		return ""
	}
	return a.public.Origin()
}
