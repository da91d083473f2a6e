package awsdouble

import (
	"math/big"
	"time"
)

type updateTimeToLive struct {
	TableName               string
	TimeToLiveSpecification struct {
		AttributeName string
		Enabled       *bool
	}
}

func (d *Double) updateTimeToLive(c *call, in *updateTimeToLive) (any, error) {
	t, err := d.table(in.TableName)
	if err != nil {
		return nil, err
	}
	spec := in.TimeToLiveSpecification
	switch on := spec.Enabled != nil && *spec.Enabled; {
	case spec.Enabled == nil || spec.AttributeName == "":
		return nil, invalid("TimeToLiveSpecification needs AttributeName and Enabled")
	case on && t.ttl != "":
		return nil, invalid("TimeToLive is already enabled")
	case !on && t.ttl != spec.AttributeName:
		return nil, invalid("TimeToLive is already disabled, or enabled on a different AttributeName: current AttributeName: %s", t.ttl)
	case on:
		t.ttl = spec.AttributeName
	default:
		t.ttl = ""
	}
	return map[string]any{"TimeToLiveSpecification": map[string]any{"AttributeName": spec.AttributeName, "Enabled": *spec.Enabled}}, nil
}

func (d *Double) describeTimeToLive(c *call, in *tableName) (any, error) {
	t, err := d.table(in.TableName)
	if err != nil {
		return nil, err
	}
	status := map[string]any{"TimeToLiveStatus": "DISABLED"}
	if t.ttl != "" {
		status = map[string]any{"TimeToLiveStatus": "ENABLED", "AttributeName": t.ttl}
	}
	return map[string]any{"TimeToLiveDescription": status}, nil
}

// Expire removes what is past its time to live by the double's clock, in every table, and says how
// many items that were. The real service does it in the background, within days, so nothing here
// happens by itself. It costs no units.
func (d *Double) Expire() (removed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := number{big.NewInt(d.clock().Unix()), 0}
	for _, t := range d.tables {
		for _, it := range t.rows.all() {
			if v, ok := it[t.ttl]; ok && v.kind == "N" && v.number.compare(now) < 0 {
				d.store(t, it, nil, newMeter(1))
				removed++
			}
		}
	}
	return removed
}

func (s *shelf) all() (items []item) {
	for _, rows := range s.partitions {
		for _, r := range rows {
			items = append(items, r.item)
		}
	}
	return items
}

type updateBackups struct {
	TableName                        string
	PointInTimeRecoverySpecification struct {
		PointInTimeRecoveryEnabled bool
		RecoveryPeriodInDays       int
	}
}

func (d *Double) updateContinuousBackups(c *call, in *updateBackups) (any, error) {
	t, err := d.table(in.TableName)
	if err != nil {
		return nil, err
	}
	t.backups = in.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled
	return t.describeBackups(), nil
}

func (d *Double) describeContinuousBackups(c *call, in *tableName) (any, error) {
	t, err := d.table(in.TableName)
	if err != nil {
		return nil, err
	}
	return t.describeBackups(), nil
}

func (t *table) describeBackups() any {
	status := "DISABLED"
	if t.backups {
		status = "ENABLED"
	}
	return map[string]any{"ContinuousBackupsDescription": map[string]any{
		"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": map[string]any{"PointInTimeRecoveryStatus": status}}}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
