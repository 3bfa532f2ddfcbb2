// Package draw makes random scenarios from a seed. It runs the real controller
// while it draws, so that it can aim a metric at the edges that depend on the
// replica count of the moment; the controller's decisions come with them.
package draw

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"scaleproof.dev/tests/oracle/control"
	"scaleproof.dev/tests/oracle/scenario"
)

// drawer is the state of one scenario being drawn.
type drawer struct {
	*rand.Rand
	sc     *scenario.Scenario
	tags   map[string]bool
	steps  int
	period int
	extra  bool

	loads []*load
	milli []int64 // each metric's target
	up    float64 // tolerances, only for aiming
	down  float64
	mode  mode

	ready, status int32 // pods lag behind the spec in some modes
	failed        []bool
	burst         int // steps until the set of failed metrics changes
}

// mode says which troubles a scenario has, and how often.
type mode struct {
	edge, failure, override, negative, overflow, edit, scaleError, strings float64
	bursts, lagging, severalItems                                          bool
	readiness                                                              string
}

// Draw makes scenario number index of a seed with its decisions. Every scenario
// has its own random stream, so one can be drawn again alone. With extra it may
// have Object and Pods metrics, edits of the HPA and failing scale calls.
func Draw(t *testing.T, seed, index uint64, extra bool) (*scenario.Scenario, *scenario.Result, error) {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, index)), tags: map[string]bool{}, extra: extra}
	kind := "drawn"
	if extra {
		kind = "extra"
	}
	d.sc = &scenario.Scenario{Name: fmt.Sprintf("%s-%d-%d", kind, seed, index)}
	d.controller()
	if !extra && d.chance(0.07) {
		return d.run(t, d.floats())
	}
	d.bounds()
	d.metrics()
	d.gates()
	d.modes()
	d.steps = d.between(40, 120)
	if d.chance(0.15) {
		d.steps = d.between(121, 240)
	}
	for range d.sc.HPA.Metrics {
		d.loads = append(d.loads, d.newLoad())
	}
	d.failed = make([]bool, len(d.sc.HPA.Metrics))
	d.status, d.ready = d.sc.InitialReplicas, d.sc.InitialReplicas
	return d.run(t, d.step)
}

func (d *drawer) run(t *testing.T, next func(i int, replicas int32) scenario.Step) (*scenario.Scenario, *scenario.Result, error) {
	var steps []scenario.Step
	result, err := control.Run(t, d.sc, func(i int, replicas int32) *scenario.Step {
		if i >= d.steps {
			return nil
		}
		step := next(i, replicas)
		steps = append(steps, step)
		return &step
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", d.sc.Name, err)
	}
	d.sc.Steps = steps
	for tag := range d.tags {
		d.sc.Tags = append(d.sc.Tags, tag)
	}
	slices.Sort(d.sc.Tags)
	return d.sc, result, nil
}

func (d *drawer) chance(p float64) bool { return d.Float64() < p }

func (d *drawer) between(low, high int) int { return low + d.IntN(high-low+1) }

func (d *drawer) tag(name string) { d.tags[name] = true }

func pick[T any](d *drawer, choices ...T) T { return choices[d.IntN(len(choices))] }

func ptr[T any](value T) *T { return &value }

func encode(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}
