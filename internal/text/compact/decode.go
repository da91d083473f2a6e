package compact

// decode reverses [encode]: it appends a text of n bytes to text, which is empty, or returns an
// error.
func decode(text, packed []byte, n int) ([]byte, error) {
	t := theTables()
	r := reader{from: packed}
	dictEnd := 0
	for len(text) < n {
		if r.count < 48 {
			r.fill()
		}
		s := t.texts.read(&r)
		if s < 256 {
			text = append(text, byte(s))
			continue
		}
		length := number(lengthClasses[s-256], &r)
		if length > n-len(text) {
			return nil, ErrDamaged
		}
		place := t.places.read(&r)
		if place < nearest {
			from := len(text) - number(distanceClasses[place], &r)
			if from < 0 {
				return nil, ErrDamaged
			}
			for i := range length { // the match may reach into what it adds
				text = append(text, text[from+i])
			}
			continue
		}
		from := 0
		if place == anywhere {
			from = r.bits(dictBits)
		} else {
			from = dictEnd + number(nearClasses[place-nearest], &r)
		}
		if dictEnd = from + length; dictEnd > len(t.dict) {
			return nil, ErrDamaged
		}
		text = append(text, t.dict[from:dictEnd]...)
	}
	if !r.ended() {
		return nil, ErrDamaged
	}
	return text, nil
}

func number(c class, r *reader) int { return c.from + r.bits(c.extra) }
