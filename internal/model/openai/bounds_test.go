package openai

// Bound makes the bounds so small that a test need not write hundreds of MB to reach them.
func (m *Model) Bound() {
	m.most = bounds{line: 8 << 10, wire: 256 << 10, whole: 32 << 10, kept: 16 << 10, calls: 20}
}

// Usual says whether a model that was made has the bounds that are documented.
func (m *Model) Usual() bool { return m.most == usual && usual.wire <= 256<<20 && usual.kept <= 16<<20 }
