package control

import (
	"fmt"
	"regexp"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	clienttesting "k8s.io/client-go/testing"

	"gopkg.in/inf.v0"

	"scaleproof.dev/tests/oracle/scenario"
)

var metricInMessage = regexp.MustCompile(`replica count from (?:external metric|pods metric|\w+ metric) ([^( ]+)`)

// observe reads the outcome of one reconcile, and fails unless there was
// exactly one: it reads the scale once, and again only after a failed update.
func (w *world) observe(tracker clienttesting.ObjectTracker) (*scenario.StepResult, error) {
	w.Lock()
	defer w.Unlock()
	if w.gets != 1 && !w.step.ScaleUpdateError {
		return nil, fmt.Errorf("%d reads of the scale in one sync period, expected 1", w.gets)
	}
	if w.updates > 1 {
		return nil, fmt.Errorf("%d rescales in one sync period", w.updates)
	}
	held, err := tracker.Get(hpaResource, namespace, hpaName)
	if err != nil {
		return nil, err
	}
	status := held.(*autoscalingv2.HorizontalPodAutoscaler).Status
	out := &scenario.StepResult{
		CurrentReplicas: status.CurrentReplicas,
		DesiredReplicas: status.DesiredReplicas,
		SpecReplicas:    w.specReplicas,
		Rescaled:        w.updates == 1,
		Conditions:      map[string][2]string{},
	}
	for _, c := range status.Conditions {
		out.Conditions[string(c.Type)] = [2]string{string(c.Status), c.Reason}
		if c.Type == autoscalingv2.ScalingActive && c.Reason == "ValidMetricFound" {
			if found := metricInMessage.FindStringSubmatch(c.Message); found != nil {
				out.Metric = found[1]
			}
		}
	}
	for _, metric := range status.CurrentMetrics {
		out.CurrentMetrics = append(out.CurrentMetrics, metricStatus(metric))
	}
	return out, nil
}

func metricStatus(metric autoscalingv2.MetricStatus) *scenario.MetricStatus {
	var name string
	var current autoscalingv2.MetricValueStatus
	switch {
	case metric.External != nil:
		name, current = metric.External.Metric.Name, metric.External.Current
	case metric.Object != nil:
		name, current = metric.Object.Metric.Name, metric.Object.Current
	case metric.Pods != nil:
		name, current = metric.Pods.Metric.Name, metric.Pods.Current
	default:
		return nil
	}
	return &scenario.MetricStatus{
		Name: name, ValueMilli: exactMilli(current.Value), AverageValueMilli: exactMilli(current.AverageValue),
	}
}

// exactMilli does not use Quantity.MilliValue, which is wrong near the ends of
// the int64 range; the controller only writes whole milli-units.
func exactMilli(quantity *resource.Quantity) *int64 {
	if quantity == nil {
		return nil
	}
	milli := new(inf.Dec).Mul(quantity.AsDec(), inf.NewDec(1000, 0))
	milli.Round(milli, 0, inf.RoundExact)
	value := milli.UnscaledBig().Int64()
	return &value
}
