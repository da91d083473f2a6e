package dynamo

import (
	"context"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// attrKeys is a list of keys, the newest first.
const attrKeys = "keys"

const linkKeyBytes = 32

// LinkKeys are the keys that sign approval links and tickets, the one for new ones first. It makes
// a first one if there is none; of several that do so at once one wins, and all get the same.
func (s *Store) LinkKeys(ctx context.Context) (access.LinkKeys, error) {
	keys, err := s.readLinkKeys(ctx)
	if err != nil || len(keys) > 0 {
		return keys, err
	}
	u := &update{key: linksKey}
	// an operator may have taken the last one out
	u.require("attribute_not_exists({keys}) OR size({keys}) = :zero")
	u.value("zero", number(0))
	if err := s.putLinkKey(ctx, u); err != nil {
		return nil, err
	}
	return s.readLinkKeys(ctx)
}

// AddLinkKey makes a new key that signs what is signed from now on. What older ones signed is still
// good. Done twice, it makes two.
func (s *Store) AddLinkKey(ctx context.Context) error {
	return s.putLinkKey(ctx, &update{key: linksKey})
}

// putLinkKey puts a new key before the others. That u's condition does not hold is no error:
// another was first.
func (s *Store) putLinkKey(ctx context.Context, u *update) error {
	made, err := s.newLinkKey()
	if err != nil {
		return err
	}
	list := func(of ...types.AttributeValue) types.AttributeValue { return &types.AttributeValueMemberL{Value: of} }
	u.sets = append(u.sets, u.in("{keys} = list_append(:made, if_not_exists({keys}, :none))"))
	u.value("made", list(bytesOf(made)))
	u.value("none", &types.AttributeValueMemberL{Value: []types.AttributeValue{}})
	_, err = s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(), UpdateExpression: u.changes(),
		ConditionExpression: u.condition(), ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values})
	if _, there := refusal(err); err == nil || there {
		return nil
	}
	return s.unavailable("making the key of approval links", err)
}

// newLinkKey takes its bytes from the text that there is: 52 characters of 5 bits.
func (s *Store) newLinkKey() ([]byte, error) {
	const characters = (linkKeyBytes*8 + 4) / 5
	made, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(s.random.Text(characters)))
	if err != nil || len(made) < linkKeyBytes {
		return nil, fmt.Errorf("dynamo: the source of randomness gave no key of %d bytes: %w", linkKeyBytes, err)
	}
	return made, nil
}

func (s *Store) readLinkKeys(ctx context.Context) (keys access.LinkKeys, err error) {
	it, err := s.get(ctx, "reading the keys of approval links", linksKey)
	if err != nil {
		return nil, err
	}
	stored, ok := it[attrKeys].(*types.AttributeValueMemberL)
	if !ok {
		return nil, nil
	}
	for _, v := range stored.Value {
		k, ok := v.(*types.AttributeValueMemberB)
		if !ok || len(k.Value) < linkKeyBytes {
			return nil, unreadable("item "+linksKey.String(), fmt.Errorf("a key is %d bytes or more; take the item out to get a new key", linkKeyBytes))
		}
		keys = append(keys, k.Value)
	}
	return keys, nil
}
