// Package rehearsal reads the tests of agents, which are YAML files with steps, and plays them
// against a server through its API: what is said, what must wait, what is decided, and what must
// come of it. It starts no server, and knows nothing of how agents are run.
package rehearsal
