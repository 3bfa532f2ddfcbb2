package draw

import (
	"fmt"

	"scaleproof.dev/tests/oracle/scenario"
)

// floats draws a scenario about the arithmetic: replica counts and percentages
// where binary floating point and exact arithmetic round to different counts.
func (d *drawer) floats() func(i int, replicas int32) scenario.Step {
	hpa := &d.sc.HPA
	d.tag("floats")
	d.tag("override")
	d.tag("behavior")
	d.steps = d.between(40, 90)
	hpa.MaxReplicas = 3000
	d.sc.InitialReplicas = 10
	metric := scenario.Metric{Type: "External", Name: "queue", TargetType: "AverageValue", Target: pick(d, "1", "100", "10", "250m", "7")}
	percent := func(values ...int) *rules {
		return &rules{StabilizationWindowSeconds: ptr(0), Policies: []policy{{"Percent", pick(d, values...), pick(d, 1, d.period)}}}
	}
	up := percent(10, 120, 136, 132, 128, 68, 124, 12, 14, 64, 35, 10)
	down := percent(80, 90, 30, 92, 68, 55, 56, 44, 32, 34, 80, 90)
	limits := d.chance(0.6) // else the ratio times the ready pods
	if limits {
		d.tag("averageValue")
	} else {
		metric.TargetType = "Value"
		up, down = percent(900), percent(100)
		d.tag("value")
	}
	hpa.Metrics = []scenario.Metric{metric}
	hpa.Behavior = encode(behavior{up, down})
	milli := scenario.Milli(metric.Target)
	return func(int, int32) scenario.Step {
		var step scenario.Step
		if d.chance(0.6) {
			replicas := pick(d, int32(5), 10, 10, 50, 100) * (1 + d.Int32N(10))
			if d.chance(0.3) {
				replicas = 1 + d.Int32N(700)
			}
			step.SpecReplicasOverride = &replicas
		}
		usage := int64(0)
		switch {
		case !limits:
			usage = milli * int64(d.between(1, 300)) / 100
		case d.chance(0.5):
			usage = milli * 5000
		}
		step.Metrics = map[string]scenario.Reading{"queue": scenario.NewReading(fmt.Sprintf("[%d]", usage))}
		return step
	}
}
