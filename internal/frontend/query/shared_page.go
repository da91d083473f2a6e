package query

import (
	"sync"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// SharedPage is a page of a feed that several readers have in common: they must not change it.
type SharedPage struct {
	wire.FeedPage

	mu    sync.Mutex
	texts map[string][][]byte
}

// Text is what write makes of the events for a kind of readers. It is written once.
func (p *SharedPage) Text(kind string, write func([]wire.Event) [][]byte) [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, written := p.texts[kind]
	if !written {
		if p.texts == nil {
			p.texts = map[string][][]byte{}
		}
		text = write(p.Items)
		p.texts[kind] = text
	}
	return text
}
