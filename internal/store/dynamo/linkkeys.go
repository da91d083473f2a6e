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

// attrKeys is the list of keys, the newest first.
const attrKeys = "keys"

const linkKeyBytes = 32

// LinkKeys returns the keys that sign approval links and tickets, the current one first. If there
// is none, it creates one; of several concurrent calls one wins, and all return the same keys.
func (s *Store) LinkKeys(ctx context.Context) (access.LinkKeys, error) {
	keys, err := s.readLinkKeys(ctx)
	if err != nil || len(keys) > 0 {
		return keys, err
	}
	u := &update{key: linksKey}
	// an operator may have removed the last key
	u.require("attribute_not_exists({keys}) OR size({keys}) = :zero")
	u.value("zero", number(0))
	if err := s.putLinkKey(ctx, u); err != nil {
		return nil, err
	}
	return s.readLinkKeys(ctx)
}

// AddLinkKey creates a key that signs everything from now on. What older keys signed remains valid.
// A repeated call creates another key.
func (s *Store) AddLinkKey(ctx context.Context) error {
	return s.putLinkKey(ctx, &update{key: linksKey})
}

// putLinkKey puts a new key before the others. If the condition of u fails, that is not an error:
// another caller was faster.
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

// newLinkKey takes its bytes from random text: 52 characters of 5 bits.
func (s *Store) newLinkKey() ([]byte, error) {
	const characters = (linkKeyBytes*8 + 4) / 5
	made, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(s.random.Text(characters)))
	if err != nil || len(made) < linkKeyBytes {
		return nil, fmt.Errorf("dynamo: the source of randomness did not return a key of %d bytes: %w", linkKeyBytes, err)
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
			return nil, unreadable("item "+linksKey.String(), fmt.Errorf("a key has fewer than %d bytes; delete the item to get a new key", linkKeyBytes))
		}
		keys = append(keys, k.Value)
	}
	return keys, nil
}
