package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// library is how much text is written in advance. It is far more than a compressor looks back, so a
// journal compresses as if no text occurred twice.
const library = 2 << 20

// Text is text as an order system returns it: records in JSON with notes that people wrote. The
// same seed writes the same text.
type Text struct{ all string }

// NewText writes the text of a seed.
func NewText(seed uint64) *Text {
	w := writer{random: rand.New(rand.NewPCG(seed, 0x0d02))}
	for w.Len() < library {
		w.record()
	}
	return &Text{w.String()}
}

// Result returns the n-th result, of size bytes.
func (t *Text) Result(n, size int) string {
	at := (n * size) % (len(t.all) - 1)
	for len(t.all)-at < size {
		size, at = min(size, len(t.all)), 0
	}
	return t.all[at : at+size]
}

type writer struct {
	strings.Builder
	random *rand.Rand
}

func (w *writer) pick(words []string) string { return words[w.random.IntN(len(words))] }

func (w *writer) record() {
	n := w.random.IntN
	fmt.Fprintf(w, `{"order":"A-%05d","customer":{"id":"cus_%08x","name":"%s %s","city":"%s"},"placed_at":"2026-%02d-%02dT%02d:%02d:%02dZ","status":"%s","items":[`,
		n(100000), n(1<<31), w.pick(given), w.pick(family), w.pick(cities), 1+n(12), 1+n(28), n(24), n(60), n(60), w.pick(states))
	for i := range 1 + n(4) {
		if i > 0 {
			w.WriteByte(',')
		}
		fmt.Fprintf(w, `{"sku":"%s-%04d","title":"%s %s","quantity":%d,"price":"%d.%02d"}`, w.pick(lines), n(10000), w.pick(qualities), w.pick(goods), 1+n(3), 4+n(190), n(100))
	}
	fmt.Fprintf(w, `],"payment":{"id":"pay_%08x","method":"%s"},"notes":[`, n(1<<31), w.pick(methods))
	for i := range 1 + n(3) {
		if i > 0 {
			w.WriteByte(',')
		}
		fmt.Fprintf(w, `{"by":"%s","text":"`, strings.ToLower(w.pick(given)))
		for range 1 + n(4) {
			w.sentence()
		}
		w.WriteString(`"}`)
	}
	w.WriteString("]}\n")
}

func (w *writer) sentence() {
	fmt.Fprintf(w, "%s %s %s the %s %s", w.pick(subjects), w.pick(verbs), w.pick(frequencies), w.pick(qualities), w.pick(goods))
	switch w.random.IntN(3) {
	case 0:
		fmt.Fprintf(w, " %s the %s %s", w.pick(links), w.pick(carriers), w.pick(outcomes))
	case 1:
		fmt.Fprintf(w, " (%s%09d)", w.pick(lines), w.random.IntN(1e9))
	}
	w.WriteString(". ")
}

func words(text string) []string { return strings.Split(text, ", ") }

var (
	given       = words("Anna, Ben, Chen, Dalia, Emil, Fatima, Goran, Hana, Ivo, Jana, Kofi, Lena, Marco, Nadia, Omar, Priya, Quentin, Rosa, Sven, Tara, Uwe, Vera, Wim, Yara, Zoltan")
	family      = words("Meyer, Okafor, Silva, Novak, Rossi, Dubois, Haddad, Larsen, Kowalski, Tanaka, Moreau, Petrov, Andersson, Costa, Weber, Nowak, Lindqvist, Fischer, Almeida, Horvat, Virtanen")
	cities      = words("Berlin, Lisbon, Oslo, Porto, Vienna, Gdansk, Lyon, Turin, Ghent, Malmo, Brno, Split, Tartu, Cork, Bilbao, Graz, Utrecht, Aarhus, Leipzig, Trieste")
	states      = words("shipped, delivered, returned, in transit, paid, waiting for stock, cancelled, partly refunded")
	methods     = words("card, transfer, invoice, wallet, voucher")
	lines       = words("LMP, CHR, TBL, SHF, RUG, MUG, BAG, CLK")
	qualities   = words("blue, second, damaged, small, oak, remaining, large, linen, folding, grey, replacement, brass, heavy, matching, hand-made, outdoor, repaired, light, woven, missing")
	goods       = words("lamp, chair, parcel, table, invoice, shelf, cushion, label, rug, box, mirror, clock, blanket, mug, set, receipt, bag, drawer, handle, frame, stool, curtain")
	subjects    = words("The customer, The warehouse, Support, The carrier, A colleague, The supplier, The driver, Accounting, The shop in town, The neighbour")
	verbs       = words("asked about, confirmed, sent, checked, did not receive, returned, found, repacked, refused, photographed, weighed, complained about, replaced, promised, mislabelled")
	frequencies = words("again, today, in writing, on Monday, by phone, as agreed, last week, with apologies, before noon, twice, in person, after the holidays")
	links       = words("because, although, after, so that, while, as soon as, even though, since")
	carriers    = words("delivery, first attempt, pick-up point, tracking page, depot, courier, customs form, replacement, scanner, second letter, appointment")
	outcomes    = words("was late, could not be found, arrived open, is expected tomorrow, shows no progress, was signed for, had the wrong address, has been refunded, was left outside, needs a decision, is still at the border")
)
