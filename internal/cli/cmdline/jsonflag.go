package cmdline

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// JsonOrFile is [JsonFlag] for a value that may also be @ and the name of a file.
func JsonOrFile(name, value string) (json.RawMessage, error) {
	file, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return JsonFlag(name, value)
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, Usagef("%s: cannot read the file: %v", name, err)
	}
	if err := notJSON(body); err != nil {
		return nil, Usagef("%s is not JSON: the file %s: %v", name, file, err)
	}
	return json.RawMessage(body), nil
}

// JsonFlag checks that a flag's value is JSON. It returns nil for an empty value.
func JsonFlag(name, value string) (json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	if err := notJSON([]byte(value)); err != nil {
		return nil, Usagef("%s is not JSON: %s: %v%s", name, value, err, display.After("; in a shell, write it like ", lookingLike[name]))
	}
	return json.RawMessage(value), nil
}

// lookingLike are examples of values, quoted for a shell.
var lookingLike = map[string]string{
	"--arguments":   `'{"amount":80}'`,
	"--result":      `'{"temperature":21}', or a string like '"sunny"'`,
	"--metadata":    `'{"ticket":4711}'`,
	"--permissions": `'{"deny":["send_refund"]}'`,
}

// notJSON says where a text stops being JSON. It returns nil for valid JSON.
func notJSON(text []byte) error {
	var any json.RawMessage
	err := json.Unmarshal(text, &any)
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w, at character %d", err, utf8.RuneCount(text[:min(int(at.Offset), len(text))]))
	}
	return err
}
