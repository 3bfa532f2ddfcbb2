// Package admission says what the API server makes of a manifest: strict
// decoding, defaulting and validation with its own code, short of storing it:
// the verdict of `kubectl create --dry-run=server`.
package admission

import (
	"context"
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install" // registers the types
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
)

const namespace = "default"

var decoder = json.NewSerializerWithOptions(
	json.DefaultMetaFactory, legacyscheme.Scheme, legacyscheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true},
)

// Judge gives the reasons why the API server refuses to create the HPA of one
// YAML document; none if it accepts it.
func Judge(document []byte) ([]string, error) {
	object, _, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return []string{err.Error()}, nil
	}
	hpa, ok := object.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return []string{fmt.Sprintf("not an autoscaling/v2 HorizontalPodAutoscaler: %T", object)}, nil
	}
	legacyscheme.Scheme.Default(hpa)
	internal := &autoscaling.HorizontalPodAutoscaler{}
	if err := legacyscheme.Scheme.Convert(hpa, internal, nil); err != nil {
		return nil, err
	}
	requested := internal.Namespace
	if requested == "" {
		requested = namespace
	}
	ctx := genericrequest.WithNamespace(context.Background(), requested)
	ctx = genericrequest.WithRequestInfo(ctx, &genericrequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: "autoscaling", APIVersion: "v2",
		Namespace: requested, Resource: "horizontalpodautoscalers",
	})
	internal.ResourceVersion = "" // kubectl removes it before it creates an object
	internal.ManagedFields = nil  // the server's field manager begins anew, whatever they say
	rest.FillObjectMetaSystemFields(internal)
	if internal.GenerateName != "" && internal.Name == "" {
		internal.Name = horizontalpodautoscaler.Strategy.GenerateName(internal.GenerateName)
	}
	return reasons(rest.BeforeCreate(horizontalpodautoscaler.Strategy, ctx, runtime.Object(internal)))
}

func reasons(err error) ([]string, error) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return []string{}, nil
	case errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0:
		var texts []string
		for _, cause := range status.Status().Details.Causes {
			texts = append(texts, fmt.Sprintf("%s: %s", cause.Field, cause.Message))
		}
		return texts, nil
	default:
		return []string{err.Error()}, nil
	}
}
