// Package webhooks answers callers who manage the endpoints of a tenant: they add, change, test and
// remove webhooks, disable and enable endpoints, and see and redrive deliveries. It delivers
// nothing itself.
package webhooks
