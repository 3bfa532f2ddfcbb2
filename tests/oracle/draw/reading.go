package draw

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"scaleproof.dev/tests/oracle/scenario"
)

var overflows = []string{
	`["9P"]`, `["9P","9P"]`, `["5P","5P","1"]`, `["10P"]`, `["9223372036854775"]`, `["9223372036854775",807]`,
	`["9223372036854775",808]`, `[9223372036854775807]`, `["4P","4P"]`, `["9007199254740993m"]`, `["8Ei"]`,
	`["9223372036854776000"]`, `[-9223372036854775807]`, `["1000E"]`,
}

// reading draws what one metric answers at step i.
func (d *drawer) reading(j, i int, spec, status, ready int32) scenario.Reading {
	metric := d.sc.HPA.Metrics[j]
	demand := d.loads[j].at(d, i)
	if d.failed[j] {
		return scenario.NewReading(pick(d, "null", "null", "[]", `{"error":"unavailable"}`))
	}
	usage := d.usage(j, demand, spec, status, ready)
	if metric.Type == "Pods" {
		return d.perPod(usage, status, ready)
	}
	if d.chance(d.mode.negative) && d.chance(0.5) {
		usage = -usage/2 - int64(d.between(0, 3))
	}
	if d.chance(d.mode.overflow) {
		if metric.Type == "Object" {
			return scenario.NewReading(pick(d, `["9P"]`, `["10P"]`, `[9223372036854775807]`, `["8Ei"]`))
		}
		return scenario.NewReading(pick(d, overflows...))
	}
	parts := []int64{usage}
	if d.mode.severalItems && metric.Type == "External" {
		parts = d.split(usage)
	}
	var items []string
	for _, part := range parts {
		item := d.number(part)
		if metric.Selector != nil && d.chance(0.7) {
			item = fmt.Sprintf(`{"value":%s,"labels":{"q":%q,"x":"%d"}}`, item, metric.Selector["q"], d.IntN(3))
		}
		items = append(items, item)
	}
	if metric.Selector != nil && d.chance(0.5) {
		items = append(items, fmt.Sprintf(`{"value":%d,"labels":{"q":"other"}}`, d.between(0, 1000000)))
	}
	return scenario.NewReading("[" + strings.Join(items, ",") + "]")
}

// usage is the total in milli-units, never negative. Often it is aimed at an
// edge of the dead band, at a whole number of replicas or at the target itself,
// and misses by at most a few milli-units.
func (d *drawer) usage(j int, demand float64, spec, status, ready int32) int64 {
	target := float64(d.milli[j])
	isValue := d.sc.HPA.Metrics[j].TargetType == "Value"
	against := float64(status)
	if isValue {
		against = 1
	}
	var usage int64
	switch {
	case d.chance(d.mode.edge):
		ratio := pick(d, 1, 1+d.up, 1-d.down, 1.1, 0.9, 1+d.up, 1-d.down, 1-d.down, 0, 0.5, 1.5)
		if d.chance(0.25) {
			count := float64(d.between(0, int(d.sc.HPA.MaxReplicas)+1))
			ratio = count / math.Max(1, float64(pick(d, spec, ready, status)))
		}
		usage = int64(math.Round(target*against*ratio)) + int64(pick(d, -2, -1, -1, 0, 0, 0, 1, 1, 2))
	case isValue:
		usage = int64(target * demand / math.Max(1, float64(spec)))
	default:
		usage = int64(target * demand)
	}
	return max(0, usage)
}

// perPod scatters values around a mean; some pods have none.
func (d *drawer) perPod(mean int64, status, ready int32) scenario.Reading {
	var items []string
	for range max(status, ready) + pick[int32](d, 0, 0, 0, 0, 1) {
		item := strconv.FormatInt(max(0, mean+int64(d.NormFloat64()*float64(mean)*0.05)), 10)
		if d.chance(0.05) {
			item = "null"
		}
		items = append(items, item)
	}
	return scenario.NewReading("[" + strings.Join(items, ",") + "]")
}

func (d *drawer) split(total int64) []int64 {
	var parts []int64
	for range pick(d, 1, 2, 2, 3, 4) - 1 {
		part := int64(float64(total) * d.Float64())
		if d.mode.negative > 0 && d.chance(0.2) {
			part = -part
		}
		parts = append(parts, part)
		total -= part
	}
	parts = append(parts, total)
	d.Shuffle(len(parts), func(a, b int) { parts[a], parts[b] = parts[b], parts[a] })
	return parts
}

// number writes a milli-value as an integer or as a quantity of the same value.
func (d *drawer) number(milli int64) string {
	if !d.chance(d.mode.strings) {
		return strconv.FormatInt(milli, 10)
	}
	switch d.IntN(4) {
	case 0:
		return fmt.Sprintf(`"%dm"`, milli)
	case 1:
		sign, size := "", milli
		if milli < 0 {
			sign, size = "-", -milli
		}
		return fmt.Sprintf(`"%s%d.%03d"`, sign, size/1000, size%1000)
	case 2:
		if milli > 0 && milli < 1e12 {
			// Micro-units that round up to the same milli-value.
			return fmt.Sprintf(`"%du"`, milli*1000-int64(d.between(0, 999)))
		}
		return fmt.Sprintf(`"%dm"`, milli)
	default:
		if milli%1000 == 0 {
			return fmt.Sprintf(`"%d"`, milli/1000)
		}
		return fmt.Sprintf(`"%de-3"`, milli)
	}
}
