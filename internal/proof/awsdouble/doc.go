// Package awsdouble is DynamoDB and SQS on the wire, in memory, for tests. Real SDK clients speak
// to it; nothing between them and the server is faked. It is strict: it refuses what the real
// services refuse, and whatever it does not know, with [Double.Unknown] to show it.
//
// One lock stands around everything, so each request is atomic and they happen in one order. Time
// is the caller's clock, chance comes from a seed. Faults are put in by rule: throttles, lost
// requests and replies, writes that land late, indexes and reads that lag, messages doubled and
// delayed. Consumed capacity is counted as DynamoDB bills it.
//
// It does not check signatures or permissions, keeps nothing on disk, has no streams, no local
// indexes, no PartiQL and no FIFO queues, and never conflicts, throttles or expires anything unless
// it is told to.
package awsdouble
