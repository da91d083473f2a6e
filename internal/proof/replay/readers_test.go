package replay

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// Many conversations are read at the same time; a server lets two pages be read at once. Where
// everybody takes turns in one simulated world, a reader that waits for its turn outside of it
// would wait for ever.
func TestManyConversationsAreComparedAtOnce(t *testing.T) {
	report, err := Run(t.Context(), Options{Conversations: recording.Generate(1, effort.Of(30, 10), recording.GenerateOptions{}), Seed: 1})
	if err != nil || !report.OK() {
		t.Errorf("%+v, %v", report, err)
	}
}
