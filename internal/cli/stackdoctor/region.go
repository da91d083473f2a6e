package stackdoctor

import "slices"

// withoutURLs are the regions in which Lambda has no function URLs, by AWS's documentation of
// November 2026.
var withoutURLs = []string{"ap-east-2", "ap-south-2", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7", "ca-west-1",
	"eu-central-2", "eu-south-2", "il-central-1", "me-central-1"}

// checkRegion compares what the stack was asked for with what its region has. Bedrock's models are
// checked per agent.
func checkRegion(s Stack, region string) []Finding {
	r := results{check: "region"}
	streams := s.Parameters["Streams"] == "On" || s.has(typeFunction, "StreamFunction")
	switch {
	case !streams:
		r.ok("%s; Streams is Off, so no function URL is needed", region)
	case slices.Contains(withoutURLs, region):
		r.fail("deploy with Streams=Off, or in another region", "%s has no Lambda function URLs, which Streams=On needs", region)
	default:
		r.ok("%s has Lambda function URLs, which Streams=On needs", region)
	}
	return r.found
}
