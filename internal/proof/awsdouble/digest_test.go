package awsdouble_test

import (
	"crypto/md5"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// handMadeDigest is a second reading of the rule for MD5OfMessageAttributes.
func handMadeDigest(attributes map[string]types.MessageAttributeValue) string {
	var raw []byte
	part := func(b []byte) {
		n := len(b)
		raw = append(raw, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		raw = append(raw, b...)
	}
	names := sortedKeys(attributes)
	slices.Sort(names)
	for _, name := range names {
		a := attributes[name]
		part([]byte(name))
		part([]byte(*a.DataType))
		if a.BinaryValue != nil {
			raw = append(raw, 2)
			part(a.BinaryValue)
		} else {
			raw = append(raw, 1)
			part([]byte(*a.StringValue))
		}
	}
	return fmt.Sprintf("%x", md5.Sum(raw))
}
