package protocols

import "github.com/dormouse-dev/dormouse/internal/api/httpapi"

// All are the protocols that the server speaks beside its API.
func All(runs Runs) []httpapi.Protocol { return []httpapi.Protocol{AISDK{runs}} }
