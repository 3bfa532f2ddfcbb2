package control

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	metricsclient "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	metricsfake "k8s.io/metrics/pkg/client/clientset/versioned/fake"

	"github.com/go-logr/logr"

	"scaleproof.dev/tests/oracle/scenario"
)

var hpaResource = schema.GroupVersionResource{
	Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers",
}

// Prepare sets process-wide things; call it once, outside any bubble. One of
// the default error handlers throttles by a process-wide clock, and since every
// bubble's clock starts again it would sleep for virtual decades.
func Prepare() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
}

// Feed gives the input of reconcile i, or nil to end the scenario; it sees the
// replica count just before.
type Feed func(i int, replicas int32) *scenario.Step

// Replay feeds the steps that a scenario lists.
func Replay(sc *scenario.Scenario) Feed {
	return func(i int, _ int32) *scenario.Step {
		if i >= len(sc.Steps) {
			return nil
		}
		return &sc.Steps[i]
	}
}

// Run runs one scenario in its own bubble of virtual time. Feature gates are
// process-wide, so scenarios run one after another.
func Run(t *testing.T, sc *scenario.Scenario, feed Feed) (result *scenario.Result, err error) {
	if err := SetGates(sc.FeatureGates); err != nil {
		return nil, err
	}
	hpa, invalid, err := build(sc.HPA)
	if err != nil {
		return nil, err
	}
	if len(invalid) > 0 {
		return &scenario.Result{Invalid: invalid}, nil
	}
	synctest.Test(t, func(*testing.T) {
		result, err = run(sc, hpa, feed)
	})
	return result, err
}

// Reconciles reads the controller's own process-wide count.
func Reconciles() (int, error) {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() == "horizontal_pod_autoscaler_controller_reconciliations_total" {
			for _, metric := range family.GetMetric() {
				total += metric.GetCounter().GetValue()
			}
		}
	}
	return int(total), nil
}

func run(sc *scenario.Scenario, hpa *autoscalingv2.HorizontalPodAutoscaler, feed Feed) (*scenario.Result, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	flags := sc.Controller
	period := seconds(flags.SyncPeriodSeconds, 15)
	latency := time.Duration(flags.ReconcileLatencyMillis) * time.Millisecond
	tolerance := 0.1
	if flags.Tolerance != nil {
		tolerance = *flags.Tolerance
	}
	w := &world{latency: latency, specReplicas: sc.InitialReplicas}
	client := newClient(hpa)
	// No resync of the informers: only the controller's own rate-limited queue
	// drives the reconciles, so that there is exactly one per step.
	factory := informers.NewSharedInformerFactory(client, 0)
	podInformer := factory.Core().V1().Pods()
	controller := podautoscaler.NewHorizontalController(
		ctx, client.CoreV1(), w.scale(), client.AutoscalingV2(), mapper(),
		metricsclient.NewRESTMetricsClient(metricsfake.NewSimpleClientset().MetricsV1beta1(), w.custom(), w.external()),
		factory.Autoscaling().V2().HorizontalPodAutoscalers(), podInformer, period,
		seconds(flags.DownscaleStabilizationSeconds, 300), tolerance,
		seconds(flags.CPUInitializationPeriodSeconds, 300), seconds(flags.InitialReadinessDelaySeconds, 30),
	)
	start := time.Now()
	factory.Start(ctx.Done())
	done := make(chan struct{})
	go func() {
		defer close(done)
		controller.Run(ctx, 1)
	}()
	defer func() {
		cancel()
		<-done
		factory.Shutdown()
	}()

	// The world changes half-way between two reconciles, so that no two things
	// ever happen at the same virtual instant.
	time.Sleep(period / 2)
	result := &scenario.Result{}
	for i := 0; ; i++ {
		step := feed(i, w.specReplicas)
		if step == nil {
			return result, nil
		}
		if err := w.show(step, podInformer.Informer().GetIndexer()); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		if step.HPA != nil {
			invalid, err := editStored(client.Tracker(), step.HPA)
			if err != nil {
				return nil, fmt.Errorf("step %d: %w", i, err)
			}
			if len(invalid) > 0 {
				return &scenario.Result{Invalid: append([]string{fmt.Sprintf("step %d", i)}, invalid...)}, nil
			}
		}
		client.ClearActions()
		synctest.Wait()
		time.Sleep(period + latency)
		synctest.Wait()
		out, err := w.observe(client.Tracker())
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		out.T = w.readAt.Sub(start).Milliseconds()
		if want := (time.Duration(i+1) * (period + latency)).Milliseconds(); out.T != want {
			return nil, fmt.Errorf("step %d: reconciled at %d ms, expected %d ms", i, out.T, want)
		}
		result.Steps = append(result.Steps, *out)
	}
}

// newClient is a fake API server in which, as in the real one, an update of the
// status changes nothing but the status.
func newClient(hpa *autoscalingv2.HorizontalPodAutoscaler) *fake.Clientset {
	client := fake.NewSimpleClientset(hpa)
	tracker := client.Tracker()
	client.PrependReactor("update", "horizontalpodautoscalers", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "status" {
			return false, nil, nil
		}
		sent := action.(clienttesting.UpdateAction).GetObject().(*autoscalingv2.HorizontalPodAutoscaler)
		held, err := tracker.Get(hpaResource, namespace, hpaName)
		if err != nil {
			return true, nil, err
		}
		next := held.(*autoscalingv2.HorizontalPodAutoscaler).DeepCopy()
		next.Status = *sent.Status.DeepCopy()
		if next, err = throughStorage(next); err != nil {
			return true, nil, err
		}
		return true, next, tracker.Update(hpaResource, next, namespace)
	})
	return client
}

func editStored(tracker clienttesting.ObjectTracker, edit *scenario.Edit) ([]string, error) {
	held, err := tracker.Get(hpaResource, namespace, hpaName)
	if err != nil {
		return nil, err
	}
	next, invalid, err := apply(held.(*autoscalingv2.HorizontalPodAutoscaler), edit)
	if err != nil || len(invalid) > 0 {
		return invalid, err
	}
	return nil, tracker.Update(hpaResource, next, namespace)
}

func seconds(value *float64, otherwise float64) time.Duration {
	if value != nil {
		otherwise = *value
	}
	return time.Duration(otherwise * float64(time.Second))
}

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion})
	m.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	return m
}
