package sim_test

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// script is a story, read: who is there, what happens, and how it must end.
type script struct {
	file, name, title string
	setting           setting
	steps             []step
	ends              []claim
}

// step is one sentence of what happens. Its acts are at once.
type step struct {
	said    string
	clauses []string
	acts    []act
}

// claim is one sentence of the end: it says what is wrong, "" if it holds.
type claim struct {
	said string
	fails
}

type fails func(*performance) string

// sentence is one entry of the vocabulary: a pattern, and what it means. {who}, {tool} and the like
// stand for what they name.
type sentence[T any] struct {
	pattern string
	means   func(args []string) (T, error)
}

var placeholders = strings.NewReplacer(
	"{who}", `([A-Z][a-z]+)`, "{tool}", `([a-z]+)`, "{tools}", `([a-z]+(?:(?:, | and )[a-z]+)*)`, "{text}", `"([^"]*)"`, "{json}", `(\{.*\})`,
	"{time}", `((?:\d+|a|an) (?:millisecond|second|minute|hour)s?(?: and \d+ seconds)?)`, "{n}", `(\d+)`, "{rest}", `(.+)`,
	"{nth}", `(first|second|third|fourth|fifth|sixth|seventh|eighth|last)`)

// vocabulary is a table of sentences, ready to be looked up.
type vocabulary[T any] []entry[T]

type entry[T any] struct {
	*regexp.Regexp
	means func(args []string) (T, error)
}

func speak[T any](sentences []sentence[T]) vocabulary[T] {
	var v vocabulary[T]
	for _, s := range sentences {
		v = append(v, entry[T]{regexp.MustCompile("^" + placeholders.Replace(s.pattern) + "$"), s.means})
	}
	return v
}

// find looks a sentence up. Where it begins with no name, it may begin in upper or lower case.
func (v vocabulary[T]) find(said string) (meaning T, err error) {
	for _, form := range []string{said, strings.ToLower(said[:1]) + said[1:]} {
		for _, e := range v {
			if m := e.FindStringSubmatch(form); m != nil {
				return e.means(m[1:])
			}
		}
	}
	return meaning, fmt.Errorf("no sentence of this vocabulary: %q", said)
}

func readStories(dir string) ([]*script, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no stories in %s: %w", dir, cmp.Or(err, os.ErrNotExist))
	}
	var all []*script
	for _, file := range files {
		s, err := readStory(file)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func readStory(file string) (*script, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &script{file: file, name: strings.TrimSuffix(filepath.Base(file), ".txt"), setting: newSetting()}
	part, lines := 0, bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "--":
			part++
		case strings.HasPrefix(line, "#") && s.title == "":
			s.title = strings.TrimSpace(line[1:])
		case line == "", strings.HasPrefix(line, "#"):
		default:
			if err := s.readLine(part, line); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, n, err)
			}
		}
	}
	if part != 2 || s.title == "" || len(s.ends) == 0 {
		return nil, fmt.Errorf("%s: a story has a title and three parts, apart by --", file)
	}
	return s, lines.Err()
}

func (s *script) readLine(part int, line string) error {
	for _, said := range sentencesOf(line) {
		if err := s.readSentence(part, said); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) readSentence(part int, said string) error {
	switch part {
	case 0:
		change, err := settings.find(said)
		if err != nil {
			return err
		}
		return change(&s.setting)
	case 1:
		next, err := readStep(said)
		s.steps = append(s.steps, next)
		return err
	}
	if rest, also := strings.CutPrefix(said, "or: "); also && len(s.ends) > 0 {
		return s.readAlternative(rest)
	}
	c, err := readClaim(said)
	s.ends = append(s.ends, c)
	return err
}

func readStep(said string) (step, error) {
	s := step{said: said}
	for _, clause := range strings.Split(said, ", while ") {
		a, err := acts.find(clause)
		if err != nil {
			return s, err
		}
		s.acts, s.clauses = append(s.acts, a), append(s.clauses, clause)
	}
	return s, nil
}

func readClaim(said string) (claim, error) {
	condition, then, is := strings.Cut(strings.TrimPrefix(said, "If "), ", then ")
	if !strings.HasPrefix(said, "If ") || !is {
		f, err := claims.find(said)
		return claim{said, f}, err
	}
	given, err := claims.find(condition)
	if err != nil {
		return claim{}, err
	}
	must, err := claims.find(then)
	return claim{said, func(p *performance) string {
		if given(p) != "" {
			return ""
		}
		return must(p)
	}}, err
}

// readAlternative adds another conversation to the one before.
func (s *script) readAlternative(said string) error {
	first := s.ends[len(s.ends)-1]
	other, err := claims.find("the conversation is: " + said)
	s.ends[len(s.ends)-1] = claim{first.said + "\n\tor: " + said, func(p *performance) string {
		if other(p) == "" {
			return ""
		}
		return first.fails(p)
	}}
	return err
}

// sentencesOf parts a line at full stops that are outside of quotes and braces. What is quoted word
// by word is one sentence.
func sentencesOf(line string) (all []string) {
	if strings.Contains(line, "he conversation is: ") || strings.HasPrefix(line, "or: ") {
		return []string{line}
	}
	quoted, depth, from := false, 0, 0
	for i, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == '.' && depth == 0 && (i+1 == len(line) || line[i+1] == ' '):
			all = append(all, strings.TrimSpace(line[from:i]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		all = append(all, rest)
	}
	return all
}

var units = map[string]time.Duration{"millisecond": time.Millisecond, "second": time.Second, "minute": time.Minute, "hour": time.Hour}

// readDuration reads what {time} matches.
func readDuration(said string) (d time.Duration) {
	for _, part := range strings.Split(said, " and ") {
		count, unit, _ := strings.Cut(part, " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			n = 1 // "a minute"
		}
		d += time.Duration(n) * units[strings.TrimSuffix(unit, "s")]
	}
	return d
}

func namesIn(said string) []string {
	return strings.Split(strings.ReplaceAll(said, " and ", ", "), ", ")
}

var counting = []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"}

// ordinal is 1 for first.
func ordinal(said string) int { return slices.Index(counting, said) + 1 }
