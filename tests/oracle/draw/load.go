package draw

import "math"

// load is the demand for one metric, in replicas, over time.
type load struct {
	shape       string
	base, peak  float64
	cycle, from int
	noise       float64
	hold        int
	level       float64
}

func (d *drawer) newLoad() *load {
	high := float64(d.sc.HPA.MaxReplicas)
	l := &load{
		shape: pick(d, "constant", "ramp", "step", "spike", "sine", "square", "sawtooth", "walk", "jump", "onoff", "twitch"),
		cycle: pick(d, 3, 5, 8, 12, 20, 30, 60),
		from:  d.IntN(20),
		noise: pick(d, 0, 0, 0.02, 0.1, 0.4),
	}
	l.base = high * pick(d, 0, 0, 0.02, 0.05, 0.1, 0.25)
	l.peak = high * pick(d, 0.15, 0.3, 0.5, 0.7, 0.9, 1.0, 1.5)
	if len(d.loads) > 0 {
		// Later metrics are smaller more often, so that every metric wins at times.
		smaller := pick(d, 0.3, 0.7, 1)
		l.base, l.peak = l.base*smaller, l.peak*smaller
	}
	if d.tags["scaleToZero"] {
		l.shape = pick(d, "onoff", "square", "spike", "jump", "sawtooth", l.shape)
		l.cycle = pick(d, 12, 20, 30, 40)
		l.base = 0
	}
	l.level = l.base
	return l
}

func (l *load) at(d *drawer, i int) float64 {
	span := l.peak - l.base
	phase := float64((i+l.from)%l.cycle) / float64(l.cycle)
	demand := l.base
	switch l.shape {
	case "ramp":
		demand += span * (1 - math.Abs(2*float64(i)/float64(d.steps)-1))
	case "step":
		if i > d.steps/4 && i < d.steps/2 {
			demand = l.peak
		}
	case "spike":
		if d.chance(0.05) {
			demand = l.peak
		}
	case "sine":
		demand += span * (1 + math.Sin(2*math.Pi*phase)) / 2
	case "square":
		if phase < 0.5 {
			demand = l.peak
		}
	case "sawtooth":
		demand += span * phase
	case "walk":
		l.level = math.Min(math.Max(0, l.level+(d.Float64()-0.5)*span*0.2), l.peak)
		demand = l.level
	case "jump":
		demand = l.held(d, 15, func() float64 { return d.Float64() * l.peak })
	case "onoff":
		demand = l.held(d, 30, func() float64 { return l.peak - l.level })
	case "twitch":
		demand += span * 0.5
		if d.chance(0.3) {
			demand *= 0.5 + d.Float64()
		}
	}
	return math.Max(0, demand*(1+l.noise*(d.Float64()-0.5)*2))
}

// held keeps a level for up to some steps, then takes the next.
func (l *load) held(d *drawer, steps int, next func() float64) float64 {
	if l.hold--; l.hold < 0 {
		l.hold = d.IntN(steps)
		l.level = next()
	}
	return l.level
}
