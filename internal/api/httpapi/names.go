package httpapi

import "cmp"

// Names are what the pages of approval links call the product and its tenants, so that a recipient
// can tell whose page it is. The zero value is "Dormouse", and each tenant under its id.
type Names struct {
	Product string
	Tenants map[string]string
}

// ProductName is what the pages call the product.
func (n Names) ProductName() string { return cmp.Or(n.Product, "Dormouse") }

// TenantName is what the pages call a tenant.
func (n Names) TenantName(id string) string { return cmp.Or(n.Tenants[id], id) }
