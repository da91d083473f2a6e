package dynamo

import (
	"context"
	"crypto/sha256"
	"fmt"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/store/dynamo/bodyform"
)

// Attributes of a body: it is in that of one of the forms of bodyform, or in pieces.
const (
	attrBody = bodyform.Plain
	// attrPieces is the number of pieces; their keys consist of the item's key, the set's name
	// and a number
	attrPieces = "pieces"
	attrSet    = "set"
	attrForm   = "form" // which form the pieces are of
	attrPiece  = "piece"
)

// mostInOne is the part of an item's 400 KB that a body may take; the rest is for its other
// attributes.
const mostInOne = 350 * 1024

// packedAttribute uses text where possible, so that a person can read it in the console.
func packedAttribute(form string, packed []byte) types.AttributeValue {
	if form == bodyform.Plain && utf8.Valid(packed) {
		return text(string(packed))
	}
	return bytesOf(packed)
}

// putOnce stores a body in an item with the given attributes, unless the item exists; an existing
// item stays unchanged. Pieces are stored first, under a name derived from their content: a reader
// that finds the item finds all its pieces, and two writers cannot mix theirs.
func (s *Store) putOnce(ctx context.Context, doing string, it item, body []byte) error {
	form, packed := bodyform.Pack(body)
	return s.putPacked(ctx, doing, it, form, packed)
}

func (s *Store) putPacked(ctx context.Context, doing string, it item, form string, packed []byte) error {
	if len(packed) <= mostInOne {
		it[form] = packedAttribute(form, packed)
	} else if err := s.putPieces(ctx, doing, it, form, packed); err != nil {
		return err
	}
	return s.putNew(ctx, doing, it)
}

// putNew stores an item unless one with its key exists, which then stays unchanged.
func (s *Store) putNew(ctx context.Context, doing string, it item) error {
	var e expression
	condition := e.in("attribute_not_exists({pk})")
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.o.Table, Item: it, ConditionExpression: &condition,
		ExpressionAttributeNames: e.names})
	if _, there := refusal(err); err == nil || there {
		return nil
	}
	return s.unavailable(doing, err)
}

// putItem stores an item in place of what is there.
func (s *Store) putItem(ctx context.Context, doing string, it item) error {
	if _, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.o.Table, Item: it}); err != nil {
		return s.unavailable(doing, err)
	}
	return nil
}

func (s *Store) putPieces(ctx context.Context, doing string, it item, form string, packed []byte) error {
	set := fmt.Sprintf("%x", sha256.Sum256(packed))[:16]
	n := 0
	for ; len(packed) > 0; n++ {
		size := min(len(packed), mostInOne)
		at := key{textAt(it, attrPK), pieceSK(textAt(it, attrSK), set, n)}
		piece := at.attributes()
		piece[attrPiece] = bytesOf(packed[:size])
		if _, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.o.Table, Item: piece}); err != nil {
			return s.unavailable(doing, err)
		}
		packed = packed[size:]
	}
	it[attrPieces], it[attrSet], it[attrForm] = number(int64(n)), text(set), text(form)
	return nil
}

func pieceSK(sk, set string, n int) string { return fmt.Sprintf("%s#%s#%04d", sk, set, n) }

// bodyOf assembles what putOnce stored. piece finds a piece by its sort key.
func bodyOf(it item, piece func(sk string) ([]byte, error)) ([]byte, error) {
	form, packed := textAt(it, attrForm), []byte(nil)
	for n := range numberAt(it, attrPieces) {
		one, err := piece(pieceSK(textAt(it, attrSK), textAt(it, attrSet), int(n)))
		if err != nil {
			return nil, err
		}
		packed = append(packed, one...)
	}
	switch {
	case form != "":
	case it[bodyform.Compact] != nil:
		form, packed = bodyform.Compact, bytesAt(it, bodyform.Compact)
	case it[bodyform.Deflated] != nil:
		form, packed = bodyform.Deflated, bytesAt(it, bodyform.Deflated)
	default:
		packed = append(bytesAt(it, bodyform.Plain), textAt(it, bodyform.Plain)...)
	}
	at, _ := threadOf(textAt(it, attrPK)) // of a segment
	body, err := bodyform.Unpack(form, packed, at.Thread)
	if err != nil {
		return nil, unreadable("item "+keyOf(it).String(), err)
	}
	return body, nil
}

// body reads the body of an item.
func (s *Store) body(ctx context.Context, doing string, it item) ([]byte, error) {
	return bodyOf(it, func(sk string) ([]byte, error) {
		at := key{textAt(it, attrPK), sk}
		piece, err := s.get(ctx, doing, at)
		if err == nil && piece == nil {
			err = unreadable("item "+keyOf(it).String(), fmt.Errorf("its piece %s is missing", at))
		}
		return bytesAt(piece, attrPiece), err
	})
}
