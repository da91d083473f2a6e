package client

import "context"

// Me is what a server knows of the holder of a token.
type Me struct {
	Name string `json:"name,omitempty"` // empty where no token is needed
	// As what the caller does is recorded: "token:anna".
	By         string   `json:"by,omitempty"`
	Tenant     string   `json:"tenant"`
	TenantName string   `json:"tenant_name"` // what pages call the tenant
	Roles      []string `json:"roles"`       // "admin" may everything
	Groups     []string `json:"groups"`      // of the server's policy file, sorted
	Agents     []string `json:"agents"`      // those that the caller may start, sorted
}

// Me reads who the caller is, and what the caller may do.
func (c *Client) Me(ctx context.Context) (Me, error) { return get[Me](ctx, c, "/v1/me", nil) }
