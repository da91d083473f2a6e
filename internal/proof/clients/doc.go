// Package clients lets stock clients of other protocols talk to a server: their scripts are in the
// folders with a package.json, and .ci/clients runs them. Its test records the conversations that
// the tests of projections read.
package clients
