package awsdouble

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// number is an exact decimal, coefficient times ten to the exponent, with no zero at the end of the
// coefficient. It is never changed.
type number struct {
	coefficient *big.Int
	exponent    int
}

const (
	maxDigits    = 38
	maxMagnitude = 126  // digits before the point
	minMagnitude = -129 // below: 1E-130 is the smallest
)

var numberForm = regexp.MustCompile(`^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$`)

func parseNumber(text string) (number, error) {
	m := numberForm.FindStringSubmatch(text)
	if m == nil || m[2]+m[3] == "" {
		return number{}, invalid("The parameter cannot be converted to a numeric value: %s", text)
	}
	exponent := 0
	if m[4] != "" {
		exponent, _ = strconv.Atoi(m[4]) // the form lets only digits through
	}
	c, _ := new(big.Int).SetString(m[1]+m[2]+m[3], 10)
	return newNumber(c, exponent-len(m[3]))
}

func newNumber(c *big.Int, exponent int) (number, error) {
	n := stripped(c, exponent)
	digits := n.digits()
	magnitude := digits + n.exponent
	switch {
	case n.coefficient.Sign() == 0:
		return number{coefficient: new(big.Int)}, nil
	case digits > maxDigits:
		return number{}, invalid("Attempting to store more than 38 significant digits in a Number")
	case magnitude > maxMagnitude:
		return number{}, invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case magnitude < minMagnitude:
		return number{}, invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	return n, nil
}

func stripped(c *big.Int, exponent int) number {
	text := c.String()
	short := strings.TrimRight(text, "0")
	if short == "" || short == "-" || short == text {
		return number{c, exponent}
	}
	s, _ := new(big.Int).SetString(short, 10)
	return number{s, exponent + len(text) - len(short)}
}

func (n number) digits() int { return len(new(big.Int).Abs(n.coefficient).String()) }

// aligned are both coefficients under the smaller exponent. The exponents lie within a few hundred
// of each other, so it is cheap.
func aligned(a, b number) (x, y *big.Int, exponent int) {
	exponent = min(a.exponent, b.exponent)
	scale := func(n number) *big.Int {
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n.exponent-exponent)), nil)
		return ten.Mul(ten, n.coefficient)
	}
	return scale(a), scale(b), exponent
}

func (n number) compare(o number) int {
	x, y, _ := aligned(n, o)
	return x.Cmp(y)
}

func (n number) plus(o number) (number, error) {
	x, y, exponent := aligned(n, o)
	return newNumber(x.Add(x, y), exponent)
}

func (n number) minus(o number) (number, error) {
	return n.plus(number{new(big.Int).Neg(o.coefficient), o.exponent})
}

// String is the plain form that DynamoDB answers with: no exponent, no needless zero.
func (n number) String() string {
	digits := new(big.Int).Abs(n.coefficient).String()
	sign := ""
	if n.coefficient.Sign() < 0 {
		sign = "-"
	}
	if n.exponent >= 0 {
		return sign + digits + strings.Repeat("0", n.exponent)
	}
	if missing := -n.exponent - len(digits) + 1; missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) + n.exponent
	return sign + digits[:point] + "." + digits[point:]
}

// size counts a byte for two digits, one for the number, and one for a minus.
func (n number) size() int {
	size := 1 + (n.digits()+1)/2
	if n.coefficient.Sign() < 0 {
		size++
	}
	return size
}
