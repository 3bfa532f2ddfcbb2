package control

import (
	"errors"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	custommetrics "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetrics "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	customfake "k8s.io/metrics/pkg/client/custom_metrics/fake"
	externalfake "k8s.io/metrics/pkg/client/external_metrics/fake"

	"scaleproof.dev/tests/oracle/scenario"
)

var errInjected = errors.New("injected failure")

// world is everything outside the controller: the scale subresource, the pods
// and the metrics APIs, as one step describes them.
type world struct {
	sync.Mutex
	latency time.Duration
	step    scenario.Step

	specReplicas   int32
	statusReplicas int32
	population     population

	gets    int
	readAt  time.Time
	updates int
}

// show prepares the world for one step.
func (w *world) show(step *scenario.Step, pods cache.Indexer) error {
	w.Lock()
	defer w.Unlock()
	w.step = *step
	w.gets, w.updates = 0, 0
	if step.SpecReplicasOverride != nil {
		w.specReplicas = *step.SpecReplicasOverride
	}
	w.statusReplicas = w.specReplicas
	if step.StatusReplicas != nil {
		w.statusReplicas = *step.StatusReplicas
	}
	next := population{total: w.statusReplicas, ready: w.statusReplicas}
	if step.ReadyPods != nil {
		next.ready = *step.ReadyPods
		next.total = max(next.total, next.ready)
	}
	next.pending = min(step.PendingPods, next.total-next.ready)
	if next == w.population {
		return nil
	}
	w.population = next
	return pods.Replace(next.pods(), "1")
}

// scale is the scale subresource. The first read of a reconcile takes the
// latency, with the lock released.
func (w *world) scale() *scalefake.FakeScaleClient {
	client := &scalefake.FakeScaleClient{}
	client.AddReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		w.Lock()
		first := w.gets == 0
		w.gets++
		w.Unlock()
		if first {
			time.Sleep(w.latency)
		}
		w.Lock()
		defer w.Unlock()
		if first {
			w.readAt = time.Now()
		}
		if w.step.ScaleGetError {
			return true, nil, errInjected
		}
		return true, &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: targetName, Namespace: namespace},
			Spec:       autoscalingv1.ScaleSpec{Replicas: w.specReplicas},
			Status:     autoscalingv1.ScaleStatus{Replicas: w.statusReplicas, Selector: selector},
		}, nil
	})
	client.AddReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.Lock()
		defer w.Unlock()
		if w.step.ScaleUpdateError {
			return true, nil, errInjected
		}
		scale := action.(clienttesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
		w.updates++
		w.specReplicas = scale.Spec.Replicas
		return true, scale.DeepCopy(), nil
	})
	return client
}

// external is the external metrics API; items without labels match every
// selector.
func (w *world) external() *externalfake.FakeExternalMetricsClient {
	client := &externalfake.FakeExternalMetricsClient{}
	client.AddReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.Lock()
		defer w.Unlock()
		name := action.GetResource().Resource
		reading, known := w.step.Metrics[name]
		if !known || reading.Failed {
			return true, nil, errInjected
		}
		wanted := action.(clienttesting.ListAction).GetListRestrictions().Labels
		list := &externalmetrics.ExternalMetricValueList{}
		for _, item := range reading.Items {
			if item.HasLabels && !wanted.Matches(labels.Set(item.Labels)) {
				continue
			}
			list.Items = append(list.Items, externalmetrics.ExternalMetricValue{
				MetricName: name, MetricLabels: item.Labels, Timestamp: metav1.Now(), Value: item.Quantity.DeepCopy(),
			})
		}
		return true, list, nil
	})
	return client
}

// custom is the custom metrics API: item i belongs to pod i, or all of them to
// the one object that was asked for.
func (w *world) custom() *customfake.FakeCustomMetricsClient {
	client := &customfake.FakeCustomMetricsClient{}
	client.AddReactor("get", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.Lock()
		defer w.Unlock()
		get := action.(customfake.GetForAction)
		reading, known := w.step.Metrics[get.GetMetricName()]
		if !known || reading.Failed {
			return true, nil, errInjected
		}
		list := &custommetrics.MetricValueList{}
		for i, item := range reading.Items {
			object := v1.ObjectReference{Kind: "Service", Name: get.GetName(), Namespace: namespace}
			if get.GetName() == "*" {
				object = v1.ObjectReference{Kind: "Pod", Name: podName(i), Namespace: namespace}
			}
			if item.Missing {
				continue
			}
			list.Items = append(list.Items, custommetrics.MetricValue{
				DescribedObject: object,
				Metric:          custommetrics.MetricIdentifier{Name: get.GetMetricName()},
				Timestamp:       metav1.Now(),
				Value:           item.Quantity.DeepCopy(),
			})
		}
		return true, list, nil
	})
	return client
}
