// Package control runs the unmodified HorizontalPodAutoscaler controller of
// Kubernetes in virtual time against a world of fakes.
package control

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install" // registers the types
	"k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/features"

	"scaleproof.dev/tests/oracle/scenario"
)

const (
	namespace  = "default"
	hpaName    = "hpa"
	targetName = "web"
	selector   = "app=web"
)

// SetGates sets the process-wide feature gates, those not named to the
// defaults of v1.36.
func SetGates(gates map[string]bool) error {
	all := map[string]bool{
		string(features.HPAScaleToZero):           false,
		string(features.HPAConfigurableTolerance): true,
	}
	for name, on := range gates {
		all[name] = on
	}
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(all)
}

// build makes the HPA that the API server would store, or the reasons why it
// would not.
func build(in scenario.HPA) (*autoscalingv2.HorizontalPodAutoscaler, []string, error) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: hpaName, Namespace: namespace, UID: "u"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: targetName,
			},
		},
	}
	edit := &scenario.Edit{
		MinReplicas: in.MinReplicas, MaxReplicas: &in.MaxReplicas, Metrics: in.Metrics, Behavior: in.Behavior,
	}
	return apply(hpa, edit)
}

// apply edits a stored HPA as a user would, through defaulting and validation.
func apply(stored *autoscalingv2.HorizontalPodAutoscaler, edit *scenario.Edit) (*autoscalingv2.HorizontalPodAutoscaler, []string, error) {
	hpa := stored.DeepCopy()
	if edit.MinReplicas != nil {
		hpa.Spec.MinReplicas = edit.MinReplicas
	}
	if edit.MaxReplicas != nil {
		hpa.Spec.MaxReplicas = *edit.MaxReplicas
	}
	if edit.Metrics != nil {
		hpa.Spec.Metrics = nil
		for _, metric := range edit.Metrics {
			spec, err := metricSpec(metric)
			if err != nil {
				return nil, nil, err
			}
			hpa.Spec.Metrics = append(hpa.Spec.Metrics, spec)
		}
	}
	if len(edit.Behavior) > 0 {
		hpa.Spec.Behavior = nil
		if string(edit.Behavior) != "null" {
			hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
			if err := scenario.Strict(edit.Behavior, hpa.Spec.Behavior); err != nil {
				return nil, nil, fmt.Errorf("behavior: %w", err)
			}
		}
	}
	return admit(hpa)
}

func metricSpec(metric scenario.Metric) (autoscalingv2.MetricSpec, error) {
	spec := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(metric.Type)}
	quantity, err := scenario.ParseQuantity(metric.Target)
	if err != nil {
		return spec, err
	}
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.MetricTargetType(metric.TargetType)}
	switch target.Type {
	case autoscalingv2.ValueMetricType:
		target.Value = &quantity
	case autoscalingv2.AverageValueMetricType:
		target.AverageValue = &quantity
	default:
		return spec, fmt.Errorf("metric %q: unknown target type %q", metric.Name, metric.TargetType)
	}
	id := autoscalingv2.MetricIdentifier{Name: metric.Name}
	if metric.Selector != nil {
		id.Selector = &metav1.LabelSelector{MatchLabels: metric.Selector}
	}
	switch spec.Type {
	case autoscalingv2.ExternalMetricSourceType:
		spec.External = &autoscalingv2.ExternalMetricSource{Metric: id, Target: target}
	case autoscalingv2.ObjectMetricSourceType:
		described := autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "svc"}
		spec.Object = &autoscalingv2.ObjectMetricSource{DescribedObject: described, Metric: id, Target: target}
	case autoscalingv2.PodsMetricSourceType:
		spec.Pods = &autoscalingv2.PodsMetricSource{Metric: id, Target: target}
	default:
		return spec, fmt.Errorf("metric %q: unsupported type %q", metric.Name, metric.Type)
	}
	return spec, nil
}

// admit does what the API server does between a request and its storage.
func admit(hpa *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, []string, error) {
	dropDisabled(hpa)
	legacyscheme.Scheme.Default(hpa)
	internal := &autoscaling.HorizontalPodAutoscaler{}
	if err := legacyscheme.Scheme.Convert(hpa, internal, nil); err != nil {
		return nil, nil, err
	}
	options := validation.HorizontalPodAutoscalerSpecValidationOptions{
		MinReplicasLowerBound: 1,
		ObjectMetricsValidationOptions: validation.CrossVersionObjectReferenceValidationOptions{
			AllowEmptyAPIGroup: true,
		},
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.HPAScaleToZero) {
		options.MinReplicasLowerBound = 0
	}
	var invalid []string
	for _, problem := range validation.ValidateHorizontalPodAutoscaler(internal, options) {
		invalid = append(invalid, problem.Error())
	}
	if len(invalid) > 0 {
		return nil, invalid, nil
	}
	stored, err := throughStorage(hpa)
	return stored, nil, err
}

// dropDisabled removes what the API server drops while its gate is off.
func dropDisabled(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	if utilfeature.DefaultFeatureGate.Enabled(features.HPAConfigurableTolerance) || hpa.Spec.Behavior == nil {
		return
	}
	for _, rules := range []*autoscalingv2.HPAScalingRules{hpa.Spec.Behavior.ScaleUp, hpa.Spec.Behavior.ScaleDown} {
		if rules != nil {
			rules.Tolerance = nil
		}
	}
}

// throughStorage gives an HPA as it comes back from etcd.
func throughStorage(hpa *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	data, err := hpa.Marshal()
	if err != nil {
		return nil, err
	}
	stored := &autoscalingv2.HorizontalPodAutoscaler{}
	return stored, stored.Unmarshal(data)
}
