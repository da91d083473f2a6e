//go:build !noaws

package awsstack

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrock"
	"github.com/aws/aws-sdk-go-v2/service/bedrock/types"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	runtime "github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
)

// profileID is what the id of a system-defined inference profile looks like: a geography before
// the id of a model.
var profileID = regexp.MustCompile(`^(global|us|us-gov|eu|apac|ap|jp|au|ca|sa|me|af|il|mx|uk|cn)\.[a-z0-9-]+\.`)

// Access implements [stackdoctor.Models].
func (m models) Access(ctx context.Context, region, model string) (stackdoctor.Access, error) {
	kind := "foundation-model"
	// arn:PARTITION:bedrock:REGION:ACCOUNT:KIND/ID, and an id may have colons
	if parts := strings.SplitN(model, ":", 6); len(parts) == 6 && parts[0] == "arn" {
		id := ""
		if kind, id, _ = strings.Cut(parts[5], "/"); kind == "foundation-model" {
			model = id
		}
	} else if profileID.MatchString(model) {
		kind = "inference-profile"
	}
	switch kind {
	case "foundation-model":
		return m.foundation(ctx, region, model)
	case "inference-profile", "application-inference-profile":
		return m.profile(ctx, region, model)
	}
	return stackdoctor.Access{NoModel: true}, nil
}

func (m models) foundation(ctx context.Context, region, model string) (a stackdoctor.Access, err error) {
	out, err := m.control(region).GetFoundationModelAvailability(ctx, &bedrock.GetFoundationModelAvailabilityInput{ModelId: &model})
	if api, is := errors.AsType[smithy.APIError](err); is && api.ErrorCode() == "ValidationException" {
		return a, stackdoctor.ErrMissing
	}
	if err != nil {
		return a, explained(err, "bedrock:GetFoundationModelAvailability")
	}
	return stackdoctor.Access{Model: model, InRegion: out.RegionAvailability == types.RegionAvailabilityAvailable, Authorized: out.AuthorizationStatus == types.AuthorizationStatusAuthorized,
		Entitled: out.EntitlementAvailability == types.EntitlementAvailabilityAvailable,
		Agreed:   out.AgreementAvailability == nil || out.AgreementAvailability.Status == types.AgreementStatusAvailable}, nil
}

// profile asks about the model behind an inference profile, as the region has it.
func (m models) profile(ctx context.Context, region, profile string) (a stackdoctor.Access, err error) {
	out, err := m.control(region).GetInferenceProfile(ctx, &bedrock.GetInferenceProfileInput{InferenceProfileIdentifier: &profile})
	if api, is := errors.AsType[smithy.APIError](err); is && api.ErrorCode() == "ValidationException" {
		return a, stackdoctor.ErrMissing
	}
	if err != nil {
		return a, explained(err, "bedrock:GetInferenceProfile")
	}
	model, regions := "", []string{}
	for _, of := range out.Models {
		if parts := strings.SplitN(aws.ToString(of.ModelArn), ":", 6); len(parts) == 6 {
			_, model, _ = strings.Cut(parts[5], "/")
			regions = append(regions, parts[3])
		}
	}
	if model == "" {
		return stackdoctor.Access{NoModel: true}, nil
	}
	a, err = m.foundation(ctx, region, model)
	slices.Sort(regions)
	a.Regions = slices.Compact(regions)
	return a, err
}

// Try implements [stackdoctor.Models].
func (m models) Try(ctx context.Context, region, model string) error {
	_, err := m.runtime(region).Converse(ctx, &bedrockruntime.ConverseInput{ModelId: &model, InferenceConfig: &runtime.InferenceConfiguration{MaxTokens: aws.Int32(1)},
		Messages: []runtime.Message{{Role: runtime.ConversationRoleUser, Content: []runtime.ContentBlock{&runtime.ContentBlockMemberText{Value: "Say OK."}}}}})
	return explained(err, "bedrock:InvokeModel")
}
