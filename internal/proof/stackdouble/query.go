package stackdouble

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
)

// query answers the services with the query protocol: CloudFormation and SNS.
func (d *Double) query(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		d.refuseXML(w, "MalformedQueryString", err.Error())
		return
	}
	operation := r.PostForm.Get("Action")
	service := "cloudformation:"
	if operation == "GetTopicAttributes" {
		service = "sns:"
	}
	switch {
	case d.account.Expired:
		d.refuseXML(w, "SignatureDoesNotMatch", "Signature expired: 20261129T120000Z is now earlier than 20261129T125500Z")
	case d.account.Denied[service+operation] && service == "sns:":
		d.refuseXML(w, "AuthorizationError", "not authorized")
	case d.account.Denied[service+operation]:
		d.refuseXML(w, "AccessDenied", "not authorized")
	case operation == "DescribeStacks" || operation == "ListStackResources":
		d.stack(w, r, operation)
	case operation == "GetTopicAttributes":
		d.topic(w, r)
	default:
		d.unknown = append(d.unknown, operation)
		d.refuseXML(w, "InvalidAction", operation)
	}
}

func (d *Double) refuseXML(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "text/xml")
	status := http.StatusBadRequest
	if code == "NotFound" {
		status = http.StatusNotFound
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>r</RequestId></ErrorResponse>", code, text(message))
}

func text(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder returns no errors
	return b.String()
}

// resourcesAtOnce is small, so that a stack has several pages.
const resourcesAtOnce = 5

func (d *Double) stack(w http.ResponseWriter, r *http.Request, operation string) {
	if name := r.PostForm.Get("StackName"); name != d.account.Stack {
		d.refuseXML(w, "ValidationError", "Stack with id "+name+" does not exist")
		return
	}
	var b strings.Builder
	if operation == "DescribeStacks" {
		fmt.Fprintf(&b, "<Stacks><member><StackName>%s</StackName><CreationTime>2026-11-29T10:00:00Z</CreationTime><StackStatus>%s</StackStatus><Parameters>", text(d.account.Stack), d.account.Status)
		for k, v := range d.account.Parameters {
			fmt.Fprintf(&b, "<member><ParameterKey>%s</ParameterKey><ParameterValue>%s</ParameterValue></member>", text(k), text(v))
		}
		b.WriteString("</Parameters><Outputs>")
		for k, v := range d.account.Outputs {
			fmt.Fprintf(&b, "<member><OutputKey>%s</OutputKey><OutputValue>%s</OutputValue></member>", text(k), text(v))
		}
		b.WriteString("</Outputs></member></Stacks>")
	} else {
		d.resources(&b, r.PostForm.Get("NextToken"))
	}
	w.Header().Set("Content-Type", "text/xml")
	fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", operation, operation, b.String(), operation, operation)
}

func (d *Double) resources(b *strings.Builder, token string) {
	from := 0
	_, _ = fmt.Sscanf(token, "from-%d", &from)
	to := min(from+resourcesAtOnce, len(d.account.Resources))
	b.WriteString("<StackResourceSummaries>")
	for _, r := range d.account.Resources[from:to] {
		fmt.Fprintf(b, "<member><LogicalResourceId>%s</LogicalResourceId><PhysicalResourceId>%s</PhysicalResourceId><ResourceType>%s</ResourceType>"+
			"<ResourceStatus>CREATE_COMPLETE</ResourceStatus><LastUpdatedTimestamp>2026-11-29T10:00:00Z</LastUpdatedTimestamp></member>", text(r.ID), text(r.Name), r.Type)
	}
	b.WriteString("</StackResourceSummaries>")
	if to < len(d.account.Resources) {
		fmt.Fprintf(b, "<NextToken>from-%d</NextToken>", to)
	}
}

func (d *Double) topic(w http.ResponseWriter, r *http.Request) {
	t, is := d.account.Topics[r.PostForm.Get("TopicArn")]
	if !is {
		d.refuseXML(w, "NotFound", "Topic does not exist")
		return
	}
	w.Header().Set("Content-Type", "text/xml")
	fmt.Fprintf(w, "<GetTopicAttributesResponse><GetTopicAttributesResult><Attributes><entry><key>SubscriptionsConfirmed</key><value>%s</value></entry>"+
		"<entry><key>SubscriptionsPending</key><value>%s</value></entry></Attributes></GetTopicAttributesResult></GetTopicAttributesResponse>", t.Confirmed, t.Pending)
}
