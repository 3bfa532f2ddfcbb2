"""The OpenAPI documents of the external metrics API: small, valid, and the same for everybody.

kube-apiserver merges them into the cluster's own, where `kubectl explain` and generated clients find them. They are
built once from one description of the metric request; nothing here knows a metric's name.
"""

from adapter.core.external_metrics import GROUP, GROUP_VERSION, VERSION, render_json

METRIC_PATH = f"/apis/{GROUP_VERSION}/namespaces/{{namespace}}/{{metric}}"
_TITLE = {"title": "scaleproof", "version": VERSION}
_GROUP_VERSION_KIND = [{"group": GROUP, "kind": "ExternalMetricValueList", "version": VERSION}]
_LIST = "io.k8s.metrics.pkg.apis.external_metrics.v1beta1.ExternalMetricValueList"
_ITEM = "io.k8s.metrics.pkg.apis.external_metrics.v1beta1.ExternalMetricValue"
_STATUS = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"

_ERRORS = {
    "400": "The request or its label selector cannot be read.",
    "401": "The credentials prove nothing.",
    "403": "The caller may not read this metric.",
    "404": "No such metric in the namespace, or none that the selector matches.",
    "405": "Only GET is served; a metric cannot be watched.",
    "406": "Only JSON is served.",
    "429": "Too many requests are under way.",
    "500": "The API server could not be asked about the caller.",
    "503": "The metric has no value now; details.causes says why.",
}


def _text(description: str) -> dict[str, object]:
    return {"type": "string", "description": description}


def _schemas(reference: str) -> dict[str, object]:
    item = {
        "type": "object",
        "description": "The value of a metric, for one set of labels.",
        "required": ["metricName", "metricLabels", "timestamp", "value"],
        "properties": {
            "metricName": _text("Name of the metric."),
            "metricLabels": {"type": "object", "additionalProperties": {"type": "string"}},
            "timestamp": {"type": "string", "format": "date-time", "description": "Time of the oldest sample in it."},
            "value": _text("The value, a Kubernetes quantity."),
        },
    }
    value_list = {
        "type": "object",
        "description": "The values of a metric that a label selector matches.",
        "required": ["items"],
        "properties": {
            "apiVersion": _text("Always external.metrics.k8s.io/v1beta1."),
            "kind": _text("Always ExternalMetricValueList."),
            "metadata": {"type": "object"},
            "items": {"type": "array", "items": {"$ref": reference + _ITEM}},
        },
        "x-kubernetes-group-version-kind": _GROUP_VERSION_KIND,
    }
    status = {
        "type": "object",
        "description": "An error of the Kubernetes API.",
        "properties": {
            "apiVersion": _text("Always v1."),
            "kind": _text("Always Status."),
            "metadata": {"type": "object"},
            "status": _text("Always Failure."),
            "message": _text("What is wrong, in words."),
            "reason": _text("What is wrong, in one word."),
            "details": {"type": "object", "description": "What it is about; causes for machines."},
            "code": {"type": "integer", "format": "int32"},
        },
    }
    return {_LIST: value_list, _ITEM: item, _STATUS: status}


_PARAMETERS = (
    ("namespace", "path", "Namespace of the metric."),
    ("metric", "path", "Name of the metric."),
    ("labelSelector", "query", "Only values whose labels match."),
    ("pretty", "query", "true indents the answer."),
)
_OPERATION = {
    "description": "read the values of an external metric",
    "operationId": "listExternalMetricsV1beta1NamespacedExternalMetricValue",
    "tags": ["externalMetrics_v1beta1"],
}


def _v2() -> dict[str, object]:
    reference = "#/definitions/"
    answers = {"200": {"description": "OK", "schema": {"$ref": reference + _LIST}}}
    answers |= {code: {"description": text, "schema": {"$ref": reference + _STATUS}} for code, text in _ERRORS.items()}
    parameters = [
        {"name": name, "in": place, "description": text, "type": "string", "required": place == "path"}
        for name, place, text in _PARAMETERS
    ]
    get = {**_OPERATION, "produces": ["application/json"], "parameters": parameters, "responses": answers}
    return {
        "swagger": "2.0",
        "info": _TITLE,
        "paths": {METRIC_PATH: {"get": get}},
        "definitions": _schemas(reference),
    }


def _v3() -> dict[str, object]:
    reference = "#/components/schemas/"

    def answer(description: str, schema: str) -> dict[str, object]:
        content = {"application/json": {"schema": {"$ref": reference + schema}}}
        return {"description": description, "content": content}

    answers = {"200": answer("OK", _LIST)} | {code: answer(text, _STATUS) for code, text in _ERRORS.items()}
    parameters = [
        {"name": name, "in": place, "description": text, "required": place == "path", "schema": {"type": "string"}}
        for name, place, text in _PARAMETERS
    ]
    return {
        "openapi": "3.0.0",
        "info": _TITLE,
        "paths": {METRIC_PATH: {"get": {**_OPERATION, "parameters": parameters, "responses": answers}}},
        "components": {"schemas": _schemas(reference)},
    }


OPENAPI_V2 = render_json(_v2())
OPENAPI_V3 = render_json(_v3())
OPENAPI_V3_PATH = f"/openapi/v3/apis/{GROUP_VERSION}"


def render_v3_index(document_hash: str) -> bytes:
    """The index of OpenAPI v3: where the one document is, and the hash by which clients keep it."""
    location = f"{OPENAPI_V3_PATH}?hash={document_hash}"
    return render_json({"paths": {f"apis/{GROUP_VERSION}": {"serverRelativeURL": location}}})
