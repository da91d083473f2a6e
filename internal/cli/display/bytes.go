package display

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes as a flag takes it: 500000, 64KiB, 100MiB, 1GiB.
type ByteSize int64

var byteUnits = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

// String implements pflag.Value.
func (b *ByteSize) String() string {
	n := int64(*b)
	for _, unit := range byteUnits {
		if n != 0 && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.suffix
		}
	}
	return "0"
}

// Set implements pflag.Value.
func (b *ByteSize) Set(text string) error {
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/unit.bytes {
			break
		}
		*b = ByteSize(n * unit.bytes)
		return nil
	}
	return errors.New("it is a whole number of bytes, or of KiB, MiB or GiB, such as 500MiB; 0 is no limit")
}

// Type implements pflag.Value: the word for the value in the help.
func (b *ByteSize) Type() string { return "size" }
