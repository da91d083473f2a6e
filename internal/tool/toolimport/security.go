package toolimport

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// security adds the secrets that the operation requires. It uses the first alternative of the
// operation that an agent file can express.
func (r *request) security() error {
	ways, said := r.own["security"]
	if !said {
		ways = r.root["security"]
	}
	var reasons []string
	for _, way := range listOf(ways) {
		err := r.enter(objectOf(way))
		if err == nil {
			return nil
		}
		reasons = append(reasons, err.Error())
	}
	if len(reasons) > 0 {
		return errors.New(strings.Join(reasons, "; "))
	}
	return nil
}

// enter uses one alternative: all of its schemes, or none.
func (r *request) enter(way map[string]any) error {
	headers, query, notes := map[string]string{}, map[string]string{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(way)) {
		scheme, err := r.object(objectOf(objectOf(r.root["components"])["securitySchemes"])[name])
		if err != nil {
			return err
		}
		secret := "{secret:" + secretName(name) + "}"
		switch kind, in := textOf(scheme["type"]), textOf(scheme["in"]); {
		case kind == "http" && strings.EqualFold(textOf(scheme["scheme"]), "bearer"):
			headers["Authorization"] = "Bearer " + secret
		case kind == "http" && strings.EqualFold(textOf(scheme["scheme"]), "basic"):
			headers["Authorization"] = "Basic " + secret
			notes = append(notes, "the secret "+secretName(name)+" must be user:password in base64")
		case kind == "apiKey" && in == "header":
			headers[textOf(scheme["name"])] = secret
		case kind == "apiKey" && in == "query":
			query[textOf(scheme["name"])] = secret
		case kind == "apiKey" && in == "cookie":
			headers["Cookie"] = textOf(scheme["name"]) + "=" + secret
		case kind == "oauth2", kind == "openIdConnect":
			headers["Authorization"] = "Bearer " + secret
			notes = append(notes, "the secret "+secretName(name)+" is an access token, which its operator must renew")
		default:
			return fmt.Errorf("HTTP tools do not support the authentication scheme %q (%s)", begin(name, 60), begin(kind, 40))
		}
	}
	maps.Copy(r.http.Headers, headers)
	maps.Copy(r.http.Query, query)
	for _, note := range notes {
		r.x.note("%s", note)
	}
	return nil
}

var (
	wordEnd   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	notSecret = regexp.MustCompile(`[^A-Z0-9]+`)
)

// secretName derives the name of the secret from a scheme.
func secretName(scheme string) string {
	name := strings.Trim(notSecret.ReplaceAllString(strings.ToUpper(wordEnd.ReplaceAllString(scheme, "${1}_$2")), "_"), "_")
	if name == "" || name[0] < 'A' || name[0] > 'Z' {
		name = strings.TrimRight("SECRET_"+name, "_")
	}
	return name
}
