package compact

import (
	_ "embed"
	"math/bits"
	"strings"
	"sync"
)

//go:embed dictionary1.txt
var lines string

// tables is what packing and unpacking share. It never changes.
type tables struct {
	// dict has what journals repeat, one after the other as journals do: members, events and
	// values of this program, and words and members of what tools return. In the file, line
	// feeds have no meaning, and ~ is the id of a thread.
	dict   []byte
	known  chains // the places in it
	texts  *code
	places *code

	classOf [mostMatch + 1]uint8 // of each length
}

// theTables are built at the first use: a function would pay for them at each cold start.
var theTables = sync.OnceValue(func() *tables {
	t := &tables{texts: newCode(textLengths, 12), places: newCode(placeLengths, 8)}
	t.dict = []byte(strings.NewReplacer("\r", "", "\n", "", "~", string(rune(idMark))).Replace(lines))
	t.known.reset(manyHashes, len(t.dict))
	t.known.add(t.dict, 0, len(t.dict))
	for n, c := leastMatch, 0; n <= mostMatch; n++ {
		for c+1 < lengths && lengthClasses[c+1].from <= n {
			c++
		}
		t.classOf[n] = uint8(c)
	}
	return t
})

// code is a prefix code. No symbol has more bits than most.
type code struct {
	lengths []byte
	bits    []uint16 // of each symbol, the first one lowest
	symbols []uint16 // by the next most bits
	most    uint
}

// newCode returns the canonical code with these lengths, one letter each: a for 1.
func newCode(lengths string, most uint) *code {
	c := &code{bits: make([]uint16, len(lengths)), symbols: make([]uint16, 1<<most), most: most}
	for _, letter := range []byte(lengths) {
		c.lengths = append(c.lengths, letter-'a'+1)
	}
	next := uint(0)
	for n := uint(1); n <= most; n++ {
		for s, length := range c.lengths {
			if uint(length) != n {
				continue
			}
			first := bits.Reverse16(uint16(next)) >> (16 - n)
			c.bits[s] = first
			for at := uint(first); at < 1<<most; at += 1 << n {
				c.symbols[at] = uint16(s)
			}
			next++
		}
		next <<= 1
	}
	return c
}

func (c *code) read(r *reader) int {
	s := c.symbols[r.acc&(1<<c.most-1)]
	n := uint(c.lengths[s])
	r.acc >>= n
	r.count -= n
	return int(s)
}

// The bits of each symbol, a for 1. They fit journals whose texts and results are JSON, English and
// source code in equal parts, and some of other languages.
const (
	textLengths = "llllllllllllllllllllllllllllllllelhkllliiiklggfieefffeefffhllklllhjjjjkjjhlkijjgjljiijlklkkjghliheggffhhgfigfgfffiffghihihijjhll" +
		"llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllljllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll" +
		"iddefffgegffhfhhghggihhillll"
	placeLengths = "hhhhhhhhffffegfefgffghhhhhhhhhcffhfefa"
)
