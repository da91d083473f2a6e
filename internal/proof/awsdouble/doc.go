// Package awsdouble is an in-memory server for tests that speaks the protocols of DynamoDB and SQS.
// Tests use the real SDK clients over real connections. It is strict: it rejects what the real
// services reject, and everything that it does not implement; [Double.Unknown] lists the latter.
//
// A single lock makes each request atomic and puts all requests in one order. The caller supplies
// the clock, and a seed decides everything random. Rules inject faults: throttling, lost requests
// and responses, late writes, stale indexes and reads, duplicate and delayed messages. Consumed
// capacity is counted as DynamoDB bills it.
//
// It does not check signatures or permissions and keeps nothing on disk. It has no streams, local
// indexes, PartiQL or FIFO queues. It reports conflicts, throttles requests and expires items only
// if a test asks for it.
package awsdouble
