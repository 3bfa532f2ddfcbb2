package control

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// population says which pods exist: ready ones first, then running ones that
// are not ready, then pending ones.
type population struct{ total, ready, pending int32 }

// Pods in the informer's cache are never changed, so all scenarios share them.
var shared = map[v1.PodPhase]map[bool][]*v1.Pod{
	v1.PodRunning: {true: nil, false: nil},
	v1.PodPending: {false: nil},
}

func (p population) pods() []any {
	pods := make([]any, 0, p.total)
	for i := int32(0); i < p.total; i++ {
		phase := v1.PodRunning
		if i >= p.total-p.pending {
			phase = v1.PodPending
		}
		pods = append(pods, pod(int(i), phase, i < p.ready))
	}
	return pods
}

func pod(i int, phase v1.PodPhase, ready bool) *v1.Pod {
	list := shared[phase][ready]
	for len(list) <= i {
		list = append(list, newPod(len(list), phase, ready))
	}
	shared[phase][ready] = list
	return list[i]
}

func newPod(i int, phase v1.PodPhase, ready bool) *v1.Pod {
	status := v1.ConditionFalse
	if ready {
		status = v1.ConditionTrue
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName(i), Namespace: namespace, Labels: map[string]string{"app": "web"}},
		Status: v1.PodStatus{
			Phase:      phase,
			Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: status}},
		},
	}
}

func podName(i int) string { return fmt.Sprintf("web-%d", i) }
