package compact

import "encoding/binary"

// Texts are literals and matches, each a symbol of one prefix code. After the symbol of a length
// follows a symbol of another code that says where the match is:
//
//   - 0 to 29: in the text before, as far back as DEFLATE's distance codes of these numbers say
//   - 30 to 36: in the dictionary, 0 to 63 bytes after the end of the match before that was there
//   - 37: in the dictionary, at the position in the next 14 bits
//
// Journals follow the dictionary from one member to the next, so most matches are of the second
// kind, which is half as long as the others.
const (
	lengths = 28 // the symbols above those of literals; lengths and bits are DEFLATE's
	symbols = 256 + lengths

	nearest  = 30
	near     = 7 // 0, 1, 2 to 3, 4 to 7, … 32 to 63
	nearest0 = 1 << (near - 1)
	anywhere = nearest + near
	places   = anywhere + 1

	dictBits = 14

	leastMatch = 3
	mostMatch  = 258
	// no bits lead to more text: a match of the greatest length takes two at least
	mostFromByte = 8 / 2 * (mostMatch + 1)
)

// class is a range of numbers with one symbol: from has those that add no extra bits.
type class struct {
	from  int
	extra uint
}

var (
	lengthClasses   = classes(lengths, leastMatch, 4)
	distanceClasses = classes(nearest, 1, 2)
	nearClasses     = classes(near, 0, 1)
)

// classes are the ranges of n symbols: the first 2·each have one number, and the ranges double
// after every each.
func classes(n, from, each int) []class {
	all := make([]class, n)
	for i := range all {
		extra := uint(max(0, i/each-1))
		all[i] = class{from, extra}
		from += 1 << extra
	}
	return all
}

// writer appends bits, the lowest first.
type writer struct {
	to    []byte
	acc   uint64
	count uint
}

func (w *writer) bits(v int, n uint) {
	w.acc |= uint64(v) << w.count
	if w.count += n; w.count >= 32 {
		w.to = binary.LittleEndian.AppendUint32(w.to, uint32(w.acc))
		w.acc >>= 32
		w.count -= 32
	}
}

func (w *writer) end() []byte {
	for n := 0; n < int(w.count+7)/8; n++ {
		w.to = append(w.to, byte(w.acc>>(8*n)))
	}
	return w.to
}

// reader takes them off again. After the last it reads zeros, and goes into debt.
type reader struct {
	from  []byte
	at    int
	acc   uint64
	count uint
	debt  uint // bits that were read and not there
}

// fill makes sure that at least 56 bits can be taken.
func (r *reader) fill() {
	if r.at+8 <= len(r.from) {
		r.acc |= binary.LittleEndian.Uint64(r.from[r.at:]) << r.count
		r.at += int(63-r.count) >> 3
		r.count |= 56
		return
	}
	for ; r.count <= 56; r.count += 8 {
		if r.at < len(r.from) {
			r.acc |= uint64(r.from[r.at]) << r.count
			r.at++
		} else {
			r.debt += 8
		}
	}
}

// bits takes at most 14 bits. A symbol of a place with its bits, and one of a length with its, take
// less than 56 together: one fill is enough for all of them.
func (r *reader) bits(n uint) int {
	v := r.acc & (1<<n - 1)
	r.acc >>= n
	r.count -= n
	return int(v)
}

// ended says whether everything was read, and nothing more.
func (r *reader) ended() bool {
	return r.debt <= r.count && r.count-r.debt < 8 && r.at == len(r.from) && r.acc == 0
}
