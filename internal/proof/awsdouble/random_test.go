package awsdouble_test

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// TestASecondServerAnswersRandomRequestsTheSame makes requests up, by a seed, on a handful of items
// with a handful of attributes, and wants the same answer from both, then the same items.
// DORMOUSE_TEST_SEED sets the seed.
func TestASecondServerAnswersRandomRequestsTheSame(t *testing.T) {
	second := os.Getenv("DORMOUSE_TEST_DYNAMODB")
	if second == "" {
		t.Skip("not run: random requests to a second DynamoDB; DORMOUSE_TEST_DYNAMODB names no server, as http://127.0.0.1:8000 would")
	}
	seed := uint64(1)
	if s := os.Getenv("DORMOUSE_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	double := httptest.NewServer(awsdouble.New(awsdouble.Options{Seed: 1}))
	defer double.Close()
	reset(t, second)
	maker := requestMaker{rand.New(rand.NewPCG(seed, 0))}
	post(t, double.URL, request{"", "CreateTable", tableBody})
	post(t, second, request{"", "CreateTable", tableBody})
	answers := map[string]int{}
	for n := range 2000 {
		r := maker.request()
		ours, theirs := post(t, double.URL, r), post(t, second, r)
		answers[ours.code]++
		if diff := cmp.Diff(theirs.comparable(), ours.comparable(), cmp.AllowUnexported(answered{})); diff != "" {
			t.Fatalf("seed %d, request %d: %s %s\n(-second server +double):\n%s\ntheir message: %s\nour message: %s",
				seed, n, r.op, r.body, diff, theirs.message, ours.message)
		}
	}
	t.Logf("seed %d: answers by code %v", seed, answers)
	if answers[""] < 500 || answers["ConditionalCheckFailedException"] < 50 || answers["ValidationException"] < 50 {
		t.Errorf("the requests are too much alike to say anything: %v", answers)
	}
}

// requestMaker makes up requests that mostly make sense.
type requestMaker struct{ *rand.Rand }

func (m requestMaker) one(of ...string) string { return of[m.IntN(len(of))] }

func (m requestMaker) request() request {
	key := `"pk":{"S":"a"},"sk":{"S":"` + m.one("1", "2", "3") + `"}`
	switch m.IntN(8) {
	case 0:
		return request{"", "PutItem", `{"TableName":"runs","ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"INDEXES","Item":{` + key + m.attributes() + `}}`}
	case 1:
		return request{"", "GetItem", `{"TableName":"runs","ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL","Key":{` + key + `}}`}
	case 2:
		v := &valueMaker{m: m}
		c := m.condition(v, 2)
		return request{"", "DeleteItem", `{"TableName":"runs","ReturnConsumedCapacity":"INDEXES","ConditionExpression":"` + c + `"` + v.parameter() + `,"Key":{` + key + `}}`}
	case 3:
		v := &valueMaker{m: m}
		return request{"", "TransactWriteItems", `{"ReturnConsumedCapacity":"INDEXES","TransactItems":[{"Update":{"TableName":"runs","ReturnValuesOnConditionCheckFailure":"ALL_OLD","UpdateExpression":"` +
			m.update(v) + `","ConditionExpression":"` + m.condition(v, 1) + `"` + v.parameter() + `,"Key":{` + key + `}}},` + actPut("9", m.one("", absent)) + `]}`}
	case 4:
		v := &valueMaker{m: m}
		c := m.condition(v, 1)
		v.made = append(v.made, `":p":{"S":"a"}`)
		return request{"", "Query", `{"TableName":"runs","ReturnConsumedCapacity":"INDEXES","KeyConditionExpression":"pk = :p","FilterExpression":"` + c + `"` + v.parameter() +
			`,"Limit":` + m.one("1", "2", "5") + `,"ScanIndexForward":` + m.one("true", "false") + `}`}
	}
	v := &valueMaker{m: m}
	body := `{"TableName":"runs","ReturnValues":"ALL_NEW","ReturnConsumedCapacity":"INDEXES","ReturnValuesOnConditionCheckFailure":"ALL_OLD","UpdateExpression":"` + m.update(v) + `"`
	if m.IntN(2) == 0 {
		body += `,"ConditionExpression":"` + m.condition(v, 2) + `"`
	}
	return request{"", "UpdateItem", body + v.parameter() + `,"Key":{` + key + `}}`}
}

func (m requestMaker) attributes() string {
	out := ""
	for _, name := range []string{"n", "s", "m", "l", "ss"} {
		if m.IntN(3) > 0 {
			out += `,"` + name + `":` + m.of(name)
		}
	}
	if m.IntN(2) == 0 {
		out += `,"dsh":{"S":"D#` + m.one("0", "1") + `"},"due":{"N":"` + m.one("1", "2", "3.50") + `"}`
	}
	return out
}

// of is a value of the kind that usually stands under the name.
func (m requestMaker) of(name string) string {
	switch name {
	case "s":
		return `{"S":"` + m.one("", "a", "ab", "b", "é") + `"}`
	case "m":
		return `{"M":{` + m.one("", `"x":{"N":"1"}`, `"x":{"N":"1"},"y":{"M":{"z":{"S":"q"}}}`) + `}}`
	case "l":
		return `{"L":[` + m.one("", `{"N":"1"}`, `{"N":"1"},{"S":"a"},{"M":{"x":{"N":"3"}}}`) + `]}`
	case "ss":
		return `{"SS":[` + m.one(`"a"`, `"a","b"`, `"c"`) + `]}`
	}
	return `{"N":"` + m.one("0", "1", "-1", "1.50", "12345678901234567890.5", "1e3") + `"}`
}

var paths = []string{"n", "s", "m", "l", "ss", "m.x", "m.y.z", "m.q", "l[0]", "l[1]", "l[2].x", "l[7]", "gone", "dsh", "due"}

// valueMaker hands out : names with values, each used where it is asked for.
type valueMaker struct {
	m    requestMaker
	made []string
}

func (v *valueMaker) of(name string) string {
	alias := fmt.Sprintf(":v%d", len(v.made))
	v.made = append(v.made, `"`+alias+`":`+v.m.of(name))
	return alias
}

func (v *valueMaker) any() string { return v.of(v.m.one("n", "n", "s", "m", "l", "ss")) }

func (v *valueMaker) parameter() string {
	if len(v.made) == 0 {
		return ""
	}
	return `,"ExpressionAttributeValues":{` + strings.Join(v.made, ",") + `}`
}

func (m requestMaker) condition(v *valueMaker, depth int) string {
	if depth > 0 {
		switch m.IntN(5) {
		case 0:
			return m.condition(v, depth-1) + " AND " + m.condition(v, depth-1)
		case 1:
			return m.condition(v, depth-1) + " OR " + m.condition(v, depth-1)
		case 2:
			return "NOT " + m.condition(v, depth-1)
		case 3:
			return "(" + m.condition(v, 0) + " OR " + m.condition(v, 0) + ") AND " + m.condition(v, 0)
		}
	}
	p := m.one(paths...)
	switch m.IntN(8) {
	case 0:
		return m.one("attribute_exists", "attribute_not_exists") + "(" + p + ")"
	case 1:
		return "size(" + p + ") " + m.one("=", "<", ">=", "<>") + " " + v.of("n")
	case 2:
		return "begins_with(" + p + ", " + v.of("s") + ")"
	case 3:
		return "contains(" + p + ", " + v.of(m.one("s", "n")) + ")"
	case 4:
		return p + " IN (" + v.any() + ", " + v.any() + ")"
	case 5:
		return p + " " + m.one("<", "<=", ">", ">=") + " " + v.of(m.one("n", "s"))
	}
	return p + " " + m.one("=", "<>") + " " + v.any()
}

func (m requestMaker) update(v *valueMaker) string {
	p, q := m.one(paths...), m.one(paths...)
	switch m.IntN(9) {
	case 0:
		return "REMOVE " + p
	case 1:
		return "REMOVE " + p + ", " + q
	case 2:
		return "ADD " + p + " " + v.of(m.one("n", "ss"))
	case 3:
		return "DELETE " + p + " " + v.of("ss")
	case 4:
		return "SET " + p + " = " + p + m.one(" + ", " - ") + v.of("n")
	case 5:
		return "SET " + p + " = list_append(if_not_exists(" + p + ", " + v.of("l") + "), " + v.of("l") + ")"
	case 6:
		return "SET " + p + " = if_not_exists(" + q + ", " + v.any() + ") REMOVE gone"
	case 7:
		return "SET " + p + " = " + q
	}
	return "SET " + p + " = " + v.any() + ", " + q + " = " + v.any()
}
