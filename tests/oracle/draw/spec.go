package draw

import (
	"encoding/json"
	"strconv"
	"strings"

	"scaleproof.dev/tests/oracle/scenario"
)

func (d *drawer) controller() {
	flags := &d.sc.Controller
	d.period = 15
	if d.chance(0.4) {
		d.period = pick(d, 5, 30, 5, 30, 10)
	}
	if d.period != 15 || d.chance(0.2) {
		flags.SyncPeriodSeconds = ptr(float64(d.period))
	}
	if d.chance(0.55) {
		p := float64(d.period)
		flags.DownscaleStabilizationSeconds = ptr(pick(d, 0, 0, 1, p, p, 2*p, 2*p, 3*p, 3*p, 30, 37, 37.5, 60, 90, 120, 300, 301, 600))
	}
	d.up, d.down = 0.1, 0.1
	if d.chance(0.4) {
		tolerance := pick(d, 0, 0.001, 0.01, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.5)
		if d.chance(0.06) {
			tolerance = pick(d, 0.9, 1.0, 1.5)
		}
		flags.Tolerance = &tolerance
		d.up, d.down = tolerance, tolerance
	}
	if d.chance(0.12) {
		flags.ReconcileLatencyMillis = pick[int64](d, 1, 4, 20, 100, 250)
		d.tag("latency")
	}
}

func (d *drawer) bounds() {
	hpa := &d.sc.HPA
	var high int
	switch r := d.Float64(); {
	case r < 0.02:
		high = 1
	case r < 0.18:
		high = d.between(2, 12)
	case r < 0.85:
		high = d.between(10, 120)
	case r < 0.97:
		high = d.between(100, 400)
	default:
		high = d.between(400, 1000)
	}
	low := 1
	if d.chance(0.55) {
		low = pick(d, 1, 1, 2, 3, 5, 1+high/8, 1+high/4)
		if d.chance(0.04) {
			low = high
		}
		low = min(low, high)
		hpa.MinReplicas = ptr(int32(low))
	}
	hpa.MaxReplicas = int32(high)
	switch r := d.Float64(); {
	case r < 0.45:
		d.sc.InitialReplicas = int32(low)
	case r < 0.9:
		d.sc.InitialReplicas = int32(d.between(low, high))
	case r < 0.94:
		d.sc.InitialReplicas = int32(high + d.between(1, 10))
	case r < 0.97:
		d.sc.InitialReplicas = int32(max(1, low-d.between(1, 5)))
	}
}

var targets = []string{
	"1", "2", "3", "5", "7", "10", "20", "30", "33", "50", "64", "100", "128", "250", "1000",
	"100m", "250m", "500m", "700m", "999m", "1m", "3m", "1500m", "3333m", "0.7", "1.1", "2.5", "12.345", "0.05",
	"1k", "5k", "1M", "3G", "512Mi", "1Gi", "12Gi", "1.5Gi", "64Ki", "1500u", "333333u", "1e3", "2e6",
}

func (d *drawer) target() string {
	if d.chance(0.75) {
		return pick(d, targets...)
	}
	return strconv.Itoa(d.between(1, 5000)) + pick(d, "", "m", "m")
}

func (d *drawer) metrics() {
	names := []string{"queue", "rate", "lag", "depth"}[:pick(d, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4)]
	for _, name := range names {
		metric := scenario.Metric{Type: "External", Name: name, TargetType: pick(d, "AverageValue", "Value"), Target: d.target()}
		if d.chance(0.2) {
			metric.Selector = map[string]string{"q": pick(d, "a", "b")}
			d.tag("selector")
		}
		if d.extra && d.chance(0.35) {
			metric.Type = pick(d, "Object", "Pods")
			metric.Selector = nil
			if metric.Type == "Pods" {
				metric.TargetType = "AverageValue"
			}
			d.tag(strings.ToLower(metric.Type))
		}
		if metric.TargetType == "Value" {
			d.tag("value")
		} else {
			d.tag("averageValue")
		}
		d.sc.HPA.Metrics = append(d.sc.HPA.Metrics, metric)
		d.milli = append(d.milli, scenario.Milli(metric.Target))
	}
	if len(names) > 1 {
		d.tag("severalMetrics")
	}
}

func (d *drawer) gates() {
	sc := d.sc
	gates := map[string]bool{}
	if d.chance(0.07) {
		gates["HPAScaleToZero"] = true
		if d.chance(0.85) && !d.tags["pods"] {
			sc.HPA.MinReplicas = ptr(int32(0))
			sc.InitialReplicas = max(sc.InitialReplicas, int32(d.IntN(4)))
		}
		d.tag("scaleToZero")
	}
	sc.HPA.Behavior = json.RawMessage("null")
	if d.chance(0.62) {
		sc.HPA.Behavior = d.behavior()
		d.tag("behavior")
	}
	if d.chance(0.03) {
		gates["HPAConfigurableTolerance"] = false
		d.tag("toleranceGateOff")
	}
	if len(gates) > 0 {
		sc.FeatureGates = gates
	}
}

type policy struct {
	Type          string `json:"type"`
	Value         int    `json:"value"`
	PeriodSeconds int    `json:"periodSeconds"`
}

type rules struct {
	StabilizationWindowSeconds *int     `json:"stabilizationWindowSeconds,omitempty"`
	SelectPolicy               string   `json:"selectPolicy,omitempty"`
	Policies                   []policy `json:"policies,omitempty"`
	Tolerance                  string   `json:"tolerance,omitempty"`
}

type behavior struct {
	ScaleUp   *rules `json:"scaleUp,omitempty"`
	ScaleDown *rules `json:"scaleDown,omitempty"`
}

func (d *drawer) behavior() json.RawMessage {
	var b behavior
	if d.chance(0.85) {
		b.ScaleUp = d.rules(&d.up)
	}
	if d.chance(0.85) {
		b.ScaleDown = d.rules(&d.down)
	}
	return encode(b)
}

func (d *drawer) rules(tolerance *float64) *rules {
	r := &rules{}
	p := d.period
	if d.chance(0.75) {
		window := pick(d, 0, 0, 0, 1, p, p, 2*p, 2*p, 3*p, 3*p+1, 4*p-1, 30, 45, 60, 90, 120)
		if d.chance(0.18) {
			window = pick(d, 180, 300, 600, 900, 1800, 3600, d.between(0, 400), d.between(0, 3600))
		}
		r.StabilizationWindowSeconds = &window
	}
	if d.chance(0.5) {
		r.SelectPolicy = pick(d, "Max", "Min", "Min", "Max")
		if d.chance(0.08) {
			r.SelectPolicy = "Disabled"
		}
	}
	if d.chance(0.75) {
		for range pick(d, 1, 1, 1, 2, 2, 3, 4) {
			r.Policies = append(r.Policies, d.policy())
		}
	}
	if d.chance(0.3) {
		r.Tolerance = pick(d, "0", "1m", "0.01", "0.03", "0.05", "50m", "0.07", "0.1", "0.102", "0.15", "0.2", "0.25", "0.3", "0.35", "350m", "0.5", "12345u")
		if d.chance(0.06) {
			r.Tolerance = pick(d, "1", "2")
		}
		*tolerance = float64(scenario.Milli(r.Tolerance)) / 1000
		d.tag("tolerance")
	}
	return r
}

func (d *drawer) policy() policy {
	p := d.period
	drawn := policy{
		Type: pick(d, "Pods", "Percent"),
		PeriodSeconds: pick(d, 1, p, p, 2*p, 3*p, 4*p, 4*p+1, 4*p-1, 10, 15, 30, 60, 60, 120, 180, 300, 600, 900, 1800,
			d.between(1, 300), d.between(1, 1800)),
	}
	if drawn.Type == "Pods" {
		drawn.Value = pick(d, 1, 1, 2, 3, 4, 5, 8, 10, 20, 50, d.between(1, 100))
	} else {
		drawn.Value = pick(d, 1, 5, 10, 10, 15, 20, 25, 30, 33, 40, 50, 60, 70, 75, 80, 90, 99, 100, 100, 110, 150, 200,
			300, 900, d.between(1, 200))
	}
	return drawn
}
