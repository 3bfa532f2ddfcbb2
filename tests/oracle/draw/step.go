package draw

import (
	"encoding/json"
	"math"

	"scaleproof.dev/tests/oracle/scenario"
)

func (d *drawer) modes() {
	m := &d.mode
	m.edge = pick(d, 0, 0.1, 0.3, 0.6, 0.9)
	m.strings = pick(d, 0, 0, 0.3, 1)
	if d.chance(0.35) {
		m.failure = pick(d, 0.02, 0.05, 0.1, 0.3)
		m.bursts = d.chance(0.5)
		d.tag("failures")
	}
	if d.chance(0.35) {
		m.readiness = pick(d, "lag", "lag", "fraction", "none", "above")
		d.tag("unready")
	}
	if m.lagging = d.chance(0.08); m.lagging {
		d.tag("statusLag")
	}
	if d.chance(0.25) {
		m.override = pick(d, 0.01, 0.03, 0.1)
		d.tag("override")
	}
	if d.chance(0.05) {
		m.negative = pick(d, 0.05, 0.2)
		d.tag("negative")
	}
	if d.chance(0.04) {
		m.overflow = 0.1
		d.tag("overflow")
	}
	if m.severalItems = d.chance(0.4); m.severalItems {
		d.tag("severalItems")
	}
	if d.extra && d.chance(0.4) {
		m.edit = pick(d, 0.01, 0.03, 0.06)
		d.tag("hpaEdit")
	}
	if d.extra && d.chance(0.3) {
		m.scaleError = pick(d, 0.02, 0.1)
		d.tag("scaleErrors")
	}
}

func (d *drawer) step(i int, replicas int32) scenario.Step {
	var step scenario.Step
	spec := d.override(&step, replicas)
	status := d.statusReplicas(&step, spec)
	ready := d.readyPods(&step, status)
	d.failures()
	step.Metrics = map[string]scenario.Reading{}
	for j, metric := range d.sc.HPA.Metrics {
		step.Metrics[metric.Name] = d.reading(j, i, spec, status, ready)
	}
	if d.chance(d.mode.scaleError) {
		if d.chance(0.5) {
			step.ScaleGetError = true
		} else {
			step.ScaleUpdateError = true
		}
	}
	if d.chance(d.mode.edit) {
		step.HPA = d.edit()
	}
	return step
}

// override lets someone else set the count; a paused HPA is woken that way.
func (d *drawer) override(step *scenario.Step, spec int32) int32 {
	low := int32(1)
	if d.sc.HPA.MinReplicas != nil {
		low = *d.sc.HPA.MinReplicas
	}
	high := d.sc.HPA.MaxReplicas
	paused := spec == 0 && !d.sc.FeatureGates["HPAScaleToZero"]
	if !d.chance(d.mode.override) && !(paused && d.chance(0.2)) && !(spec == 0 && d.chance(0.02)) {
		return spec
	}
	switch r := d.Float64(); {
	case paused || r < 0.45:
		spec = low + d.Int32N(high-low+1)
	case r < 0.65:
		spec = high + 1 + d.Int32N(20)
	case r < 0.8:
		spec = max(0, low-1-d.Int32N(4))
	case r < 0.9:
		spec = 0
	default:
		spec = max(1, spec+d.Int32N(7)-3)
	}
	step.SpecReplicasOverride = &spec
	d.tag("override")
	return spec
}

func (d *drawer) statusReplicas(step *scenario.Step, spec int32) int32 {
	if !d.mode.lagging {
		return spec
	}
	if gap := spec - d.status; gap != 0 && d.chance(0.7) {
		d.status += int32(math.Ceil(float64(gap) * pick(d, 0.2, 0.5, 1)))
	} else if d.chance(0.1) {
		d.status = spec + d.Int32N(5) - 2
	}
	d.status = max(0, d.status)
	if d.status != spec {
		step.StatusReplicas = ptr(d.status)
	}
	return d.status
}

func (d *drawer) readyPods(step *scenario.Step, status int32) int32 {
	ready := status
	switch d.mode.readiness {
	case "lag":
		if d.ready < status {
			ready = d.ready + int32(math.Ceil(float64(status-d.ready)*pick(d, 0, 0.3, 0.6, 1)))
		}
		d.ready = ready
	case "fraction":
		if d.chance(0.5) {
			ready = int32(float64(status) * d.Float64())
		}
	case "none":
		if d.chance(0.15) {
			ready = 0
		}
	case "above":
		if d.chance(0.4) {
			ready = status + d.Int32N(5)
		}
	}
	if ready != status {
		step.ReadyPods = ptr(ready)
	}
	if d.extra && ready < status {
		step.PendingPods = d.Int32N(status - ready + 1)
	}
	return ready
}

func (d *drawer) failures() {
	probability := d.mode.failure
	if d.mode.bursts {
		if d.burst--; d.burst >= 0 {
			return
		}
		d.burst = d.IntN(8)
		probability *= 3
	}
	for j := range d.failed {
		d.failed[j] = d.chance(probability)
	}
}

func (d *drawer) edit() *scenario.Edit {
	edit := &scenario.Edit{}
	switch d.IntN(3) {
	case 0:
		high := max(d.sc.HPA.MaxReplicas, 2)
		edit.MaxReplicas = ptr(high + d.Int32N(high))
	case 1:
		edit.MinReplicas = ptr(1 + d.Int32N(d.sc.HPA.MaxReplicas))
	default:
		edit.Behavior = json.RawMessage("null")
		if d.chance(0.8) {
			edit.Behavior = d.behavior()
		}
	}
	return edit
}
