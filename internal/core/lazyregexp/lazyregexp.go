// Package lazyregexp has regular expressions that are compiled when they are first used. A variable
// with one costs nothing when a program starts: a Lambda function runs the initialization of every
// package it links at each cold start.
package lazyregexp

import (
	"regexp"
	"sync/atomic"
)

// Regexp is a regular expression; see [regexp.Regexp]. It is safe for concurrent use.
type Regexp struct {
	text     string
	compiled atomic.Pointer[regexp.Regexp]
}

// New returns the expression of a text without compiling it. The first use of a wrong one panics.
func New(text string) *Regexp { return &Regexp{text: text} }

// re compiles twice if two ask at once, which changes nothing.
func (r *Regexp) re() *regexp.Regexp {
	re := r.compiled.Load()
	if re == nil {
		re = regexp.MustCompile(r.text)
		r.compiled.Store(re)
	}
	return re
}

// String returns the text of the expression.
func (r *Regexp) String() string { return r.text }

// MatchString is that of [regexp.Regexp].
func (r *Regexp) MatchString(s string) bool { return r.re().MatchString(s) }

// FindStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindStringSubmatch(s string) []string { return r.re().FindStringSubmatch(s) }

// FindStringSubmatchIndex is that of [regexp.Regexp].
func (r *Regexp) FindStringSubmatchIndex(s string) []int { return r.re().FindStringSubmatchIndex(s) }

// FindAllStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.re().FindAllStringSubmatch(s, n)
}

// ReplaceAllString is that of [regexp.Regexp].
func (r *Regexp) ReplaceAllString(s, with string) string { return r.re().ReplaceAllString(s, with) }

// ReplaceAllStringFunc is that of [regexp.Regexp].
func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.re().ReplaceAllStringFunc(s, with)
}

// Match is that of [regexp.Regexp].
func (r *Regexp) Match(b []byte) bool { return r.re().Match(b) }

// FindSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.re().FindSubmatch(b) }

// FindString is that of [regexp.Regexp].
func (r *Regexp) FindString(s string) string { return r.re().FindString(s) }
