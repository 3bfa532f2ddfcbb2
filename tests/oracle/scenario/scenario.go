// Package scenario is the format of decision vectors: one HPA, one controller
// and what the world shows at each reconcile; see tests/hpa/vectors/README.md.
// It knows nothing of how a scenario is run.
package scenario

import (
	"bytes"
	"encoding/json"
)

// Scenario is one line of input.
type Scenario struct {
	Name            string          `json:"name"`
	Doc             string          `json:"doc,omitempty"`
	Tags            []string        `json:"tags,omitempty"`
	HPA             HPA             `json:"hpa"`
	Controller      Controller      `json:"controller"`
	FeatureGates    map[string]bool `json:"featureGates,omitempty"`
	InitialReplicas int32           `json:"initialReplicas"`
	Steps           []Step          `json:"steps"`
	// Expect holds replica counts worked out by hand, by step index.
	Expect map[int]int32 `json:"expect,omitempty"`
}

// HPA is the part of an autoscaling/v2 spec that a scenario chooses.
type HPA struct {
	MinReplicas *int32          `json:"minReplicas,omitempty"`
	MaxReplicas int32           `json:"maxReplicas"`
	Metrics     []Metric        `json:"metrics"`
	Behavior    json.RawMessage `json:"behavior"`
}

// Metric is a flat form of an autoscaling/v2 MetricSpec.
type Metric struct {
	Type       string            `json:"type"`
	Name       string            `json:"name"`
	Selector   map[string]string `json:"selector,omitempty"`
	TargetType string            `json:"targetType"`
	Target     string            `json:"target"`
}

// Controller holds kube-controller-manager flags (nil: the flag's default), and
// how long a reconcile takes until it has read the scale.
type Controller struct {
	SyncPeriodSeconds              *float64 `json:"syncPeriodSeconds,omitempty"`
	DownscaleStabilizationSeconds  *float64 `json:"downscaleStabilizationSeconds,omitempty"`
	Tolerance                      *float64 `json:"tolerance,omitempty"`
	InitialReadinessDelaySeconds   *float64 `json:"initialReadinessDelaySeconds,omitempty"`
	CPUInitializationPeriodSeconds *float64 `json:"cpuInitializationPeriodSeconds,omitempty"`
	ReconcileLatencyMillis         int64    `json:"reconcileLatencyMillis,omitempty"`
}

// Step is the world at one reconcile.
type Step struct {
	Metrics              map[string]Reading `json:"metrics"`
	ReadyPods            *int32             `json:"readyPods,omitempty"`
	PendingPods          int32              `json:"pendingPods,omitempty"`
	StatusReplicas       *int32             `json:"statusReplicas,omitempty"`
	SpecReplicasOverride *int32             `json:"specReplicasOverride,omitempty"`
	ScaleGetError        bool               `json:"scaleGetError,omitempty"`
	ScaleUpdateError     bool               `json:"scaleUpdateError,omitempty"`
	HPA                  *Edit              `json:"hpa,omitempty"`
}

// Edit replaces parts of the HPA's spec from one step on; a behavior of null
// removes it.
type Edit struct {
	MinReplicas *int32          `json:"minReplicas,omitempty"`
	MaxReplicas *int32          `json:"maxReplicas,omitempty"`
	Metrics     []Metric        `json:"metrics,omitempty"`
	Behavior    json.RawMessage `json:"behavior,omitempty"`
}

// Result is what the controller decided. Invalid lists why the API server
// refuses the HPA, and then there are no steps.
type Result struct {
	Invalid []string     `json:"invalid,omitempty"`
	Steps   []StepResult `json:"steps,omitempty"`
}

// StepResult is the state after one reconcile.
type StepResult struct {
	T               int64                `json:"t"`
	CurrentReplicas int32                `json:"currentReplicas"`
	DesiredReplicas int32                `json:"desiredReplicas"`
	SpecReplicas    int32                `json:"specReplicas"`
	Rescaled        bool                 `json:"rescaled"`
	Conditions      map[string][2]string `json:"conditions"`
	Metric          string               `json:"metric,omitempty"`
	CurrentMetrics  []*MetricStatus      `json:"currentMetrics"`
}

// MetricStatus is one entry of status.currentMetrics, nil for the empty entry
// of a metric that failed.
type MetricStatus struct {
	Name              string `json:"name"`
	ValueMilli        *int64 `json:"valueMilli,omitempty"`
	AverageValueMilli *int64 `json:"averageValueMilli,omitempty"`
}

// Vector is a scenario with what the controller decided.
type Vector struct {
	Scenario json.RawMessage `json:"scenario"`
	Result   *Result         `json:"result"`
}

// Parse reads one scenario and refuses fields it does not know.
func Parse(data []byte) (*Scenario, error) {
	sc := &Scenario{}
	return sc, Strict(data, sc)
}

// Strict decodes JSON and refuses unknown fields.
func Strict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
