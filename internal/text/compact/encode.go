package compact

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"
)

const (
	hashed    = 4 // bytes
	fewHashes = 12
	// the dictionary is looked at for each byte, and has few of the text's
	manyHashes = 15
	// how many candidates are looked at for one match
	mostTries = 8
	// a match near the last one in the dictionary follows it soon
	nearFor = 32
	// a match of this length is taken, whatever the next place has
	longEnough = 32
)

// chains finds the places before with the same four bytes. Places count from 1.
type chains struct {
	head   []uint16
	shift  uint
	before []uint16
}

// hash spreads four bytes over 32 bits; the highest are the best.
func hash(b []byte) uint32 { return binary.LittleEndian.Uint32(b) * 2654435761 }

func (c *chains) reset(bits uint, n int) {
	if c.head == nil {
		c.head, c.shift = make([]uint16, 1<<bits), 32-bits
	}
	clear(c.head)
	if cap(c.before) < n {
		c.before = make([]uint16, n)
	}
	c.before = c.before[:n]
}

// add adds the places up to one of them.
func (c *chains) add(text []byte, from, to int) {
	for at := from; at < min(to, len(text)-hashed+1); at++ {
		h := hash(text[at:]) >> c.shift
		c.before[at], c.head[h] = c.head[h], uint16(at+1)
	}
}

var encoders = sync.Pool{New: func() any { return &encoder{tables: theTables()} }}

// encoder packs one text.
type encoder struct {
	*tables
	chains
	text    []byte
	worth   []int32 // bits of the text before each place, as literals
	added   int
	dictEnd int // of the last match in the dictionary
	nearTo  int // up to where the next one is looked for near it
	out     writer
}

// match is a place with the same bytes.
type match struct {
	length int
	class  int // of the length
	place  int // symbol
	value  int
	extra  uint
	gain   int32 // bits that it saves
	dict   int   // its end in the dictionary; 0: it is in the text
}

// encode appends the packed text.
func encode(to, text []byte) []byte {
	e := encoders.Get().(*encoder)
	e.text, e.added, e.dictEnd, e.nearTo, e.out = text, 0, 0, nearFor, writer{to: to}
	e.reset(fewHashes, len(text))
	e.weigh()
	var m match
	for at, sought := 0, false; at < len(text); {
		if !sought {
			m = e.best(at)
		}
		sought = false
		if m.length > 0 && m.length < longEnough {
			// a match that begins one later may save more
			if next := e.best(at + 1); next.gain > m.gain {
				e.literal(text[at])
				m, at, sought = next, at+1, true
				continue
			}
		}
		if m.length == 0 {
			e.literal(text[at])
			at++
			continue
		}
		e.put(m)
		at += m.length
		if m.dict > 0 {
			e.dictEnd, e.nearTo = m.dict, at+nearFor
		}
	}
	packed := e.out.end()
	e.text, e.out = nil, writer{}
	encoders.Put(e)
	return packed
}

// weigh fills [encoder.worth].
func (e *encoder) weigh() {
	sum := int32(0)
	e.worth = append(e.worth[:0], 0)
	for _, b := range e.text {
		sum += int32(e.texts.lengths[b])
		e.worth = append(e.worth, sum)
	}
}

func (e *encoder) literal(b byte) { e.out.bits(int(e.texts.bits[b]), uint(e.texts.lengths[b])) }

func (e *encoder) put(m match) {
	s := 256 + m.class
	e.out.bits(int(e.texts.bits[s]), uint(e.texts.lengths[s]))
	e.out.bits(m.length-lengthClasses[m.class].from, lengthClasses[m.class].extra)
	e.out.bits(int(e.places.bits[m.place]), uint(e.places.lengths[m.place]))
	e.out.bits(m.value, m.extra)
}

// best returns the match at a place that saves most, or none.
func (e *encoder) best(at int) (m match) {
	e.add(e.text, e.added, at)
	e.added = at
	rest := e.text[at:min(len(e.text), at+mostMatch)]
	if len(rest) < leastMatch {
		return m
	}
	if at < e.nearTo {
		after := e.dict[e.dictEnd:min(len(e.dict), e.dictEnd+nearest0)]
		if i := bytes.Index(after, rest[:leastMatch]); i >= 0 {
			e.inDictionary(&m, at, e.dictEnd+i, rest)
		}
	}
	if len(rest) < hashed {
		return m
	}
	h := hash(rest)
	for p, tries := e.known.head[h>>e.known.shift], mostTries; p > 0 && tries > 0; p, tries = e.known.before[p-1], tries-1 {
		if e.dict[min(int(p)-1+m.length, len(e.dict)-1)] == rest[min(m.length, len(rest)-1)] {
			e.inDictionary(&m, at, int(p)-1, rest)
		}
	}
	for p, tries := e.head[h>>e.shift], mostTries; p > 0 && tries > 0; p, tries = e.before[p-1], tries-1 {
		if from := int(p) - 1; e.text[from+min(m.length, len(rest)-1)] == rest[min(m.length, len(rest)-1)] {
			e.inText(&m, at, from, rest)
		}
	}
	return m
}

func (e *encoder) inText(m *match, at, from int, rest []byte) {
	n := common(rest, e.text[from:])
	if n < leastMatch || n < m.length {
		return
	}
	// two numbers of each power of 2 have a symbol; see [classes]
	back := at - from - 1
	power := max(bits.Len(uint(back)), 2)
	place := 2*(power-1) + back>>(power-2)&1
	if back < 2 {
		place = back
	}
	c := distanceClasses[place]
	e.better(m, at, match{length: n, place: place, value: at - from - c.from, extra: c.extra})
}

func (e *encoder) inDictionary(m *match, at, from int, rest []byte) {
	n := common(rest, e.dict[from:])
	if n < leastMatch || n < m.length {
		return
	}
	other := match{length: n, place: anywhere, value: from, extra: dictBits, dict: from + n}
	if gap := from - e.dictEnd; gap >= 0 && gap < nearest0 {
		place := bits.Len(uint(gap))
		other.place, other.value, other.extra = nearest+place, gap-nearClasses[place].from, nearClasses[place].extra
	}
	e.better(m, at, other)
}

// better keeps the match that saves more.
func (e *encoder) better(m *match, at int, other match) {
	other.class = int(e.classOf[other.length])
	cost := int(e.texts.lengths[256+other.class]) + int(lengthClasses[other.class].extra) + int(e.places.lengths[other.place]) + int(other.extra)
	if other.gain = e.worth[at+other.length] - e.worth[at] - int32(cost); other.gain > m.gain {
		*m = other
	}
}

// common returns how many bytes two texts have in common at their beginnings.
func common(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for ; i+8 <= n; i += 8 {
		if other := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
