// Package compact stores the JSON of a segment in fewer bytes.
//
// A packed body is read with nothing but the program and the id of its thread: matches are looked
// for in the body itself and in a dictionary that is part of the program, never in another segment.
// So a damaged segment damages only itself. A checksum makes damage an error in any part.
//
// The first byte says how the rest is stored. JSON begins with a bracket, so a body that was stored
// as it is, as all were once, says so itself. A code, its dictionary and its tables never change;
// another dictionary is another code.
package compact
