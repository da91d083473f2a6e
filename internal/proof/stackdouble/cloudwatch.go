package stackdouble

import (
	"io"
	"net/http"
	"path"

	"github.com/aws/smithy-go/encoding/cbor"
)

// cloudWatch answers in CBOR.
func (d *Double) cloudWatch(w http.ResponseWriter, r *http.Request) {
	operation := path.Base(r.URL.Path)
	body, err := io.ReadAll(r.Body)
	in, isMap := cbor.Map{}, false
	if v, wrong := cbor.Decode(body); err == nil && wrong == nil {
		in, isMap = v.(cbor.Map)
	}
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	var out cbor.Map
	switch {
	case !isMap:
		d.unknown = append(d.unknown, "a body that is not a map of CBOR")
	case d.account.Denied["cloudwatch:"+operation]:
		w.WriteHeader(http.StatusForbidden)
		out = cbor.Map{"__type": cbor.String("AccessDeniedException"), "message": cbor.String("not authorized")}
	case operation == "DescribeAlarms":
		out = d.alarms(in)
	case operation == "GetMetricStatistics":
		out = d.statistics(in)
	default:
		d.unknown = append(d.unknown, operation)
		w.WriteHeader(http.StatusBadRequest)
	}
	_, _ = w.Write(cbor.Encode(out))
}

func (d *Double) alarms(in cbor.Map) cbor.Map {
	found := cbor.List{}
	names, _ := in["AlarmNames"].(cbor.List)
	for _, v := range names {
		name, _ := v.(cbor.String)
		a, is := d.account.Alarms[string(name)]
		if !is {
			continue
		}
		alarm := cbor.Map{"AlarmName": name, "StateValue": cbor.String(a.State), "ActionsEnabled": cbor.Bool(true), "AlarmActions": cbor.List{},
			"StateTransitionedTimestamp": &cbor.Tag{ID: 1, Value: cbor.Float64(a.Since.Unix())}}
		if a.Topic != "" {
			alarm["AlarmActions"] = cbor.List{cbor.String(a.Topic)}
		}
		found = append(found, alarm)
	}
	return cbor.Map{"MetricAlarms": found}
}

func (d *Double) statistics(in cbor.Map) cbor.Map {
	points := cbor.List{}
	dimensions, _ := in["Dimensions"].(cbor.List)
	for _, v := range dimensions {
		dimension, _ := v.(cbor.Map)
		queue, _ := dimension["Value"].(cbor.String)
		if age, is := d.account.Oldest[string(queue)]; is {
			points = append(points, cbor.Map{"Maximum": cbor.Float64(age)})
		}
	}
	return cbor.Map{"Datapoints": points}
}
