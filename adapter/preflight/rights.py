"""What the adapter and the HPA controller have to be allowed: questions to the API server, and judges of its answers.

Asked about the ServiceAccounts and not about who runs the command: an administrator may do everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapter.kube_objects import Document, Refused
from adapter.preflight.findings import Finding, Verdict, listed

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
AUTHENTICATION_CONFIG = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
HPA_CONTROLLER = ("kube-system", "horizontal-pod-autoscaler")
EXTERNAL_METRICS = "external.metrics.k8s.io"

Answers = Sequence[tuple["Right", bool | Refused]]


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        what = f"{resource}.{self.group}" if self.group else resource
        return f"{self.verb} {what}" + (f" in {self.namespace}" if self.namespace else "")


ADAPTER_RIGHTS = (
    Right("create", "authentication.k8s.io", "tokenreviews"),
    Right("create", "authorization.k8s.io", "subjectaccessreviews"),
    *(
        Right(verb, "", "configmaps", "kube-system", "extension-apiserver-authentication")
        for verb in ("get", "list", "watch")
    ),
)
POLICY_RIGHTS = (
    Right("list", "scaleproof.dev", "scalingpolicies"),
    Right("watch", "scaleproof.dev", "scalingpolicies"),
    Right("patch", "scaleproof.dev", "scalingpolicies", subresource="status"),
)
"""Needed where policies are objects of the API server, and not asked for elsewhere."""


def reading(namespace: str, metric: str) -> Right:
    """What the HPA controller does for a metric: a GET of a collection is a list."""
    return Right("list", EXTERNAL_METRICS, metric, namespace)


def review(right: Right, service_account: tuple[str, str]) -> dict[str, Any]:
    """The SubjectAccessReview for a ServiceAccount, with the groups that each of them is in."""
    namespace, name = service_account
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "namespace": right.namespace,
        "name": right.name,
        "subresource": right.subresource,
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{name}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
            "resourceAttributes": {key: value for key, value in attributes.items() if value},
        },
    }


def is_allowed(answer: Document | Refused) -> bool | Refused:
    """What the API server says to a review."""
    if isinstance(answer, Refused):
        return answer
    status: Mapping[str, Any] = answer.get("status", {})
    return bool(status.get("allowed")) and not status.get("denied")


def judge_adapter(answers: Answers, namespace: str, is_installed: bool) -> Finding:
    """Whether the adapter may ask who somebody is and what they may, and whose certificate is the aggregator's."""
    fix = "apply manifests/base/rbac.yaml"
    verdict = Verdict.FAIL if is_installed else Verdict.WARN  # before the installation nobody has given it any right
    looked_at = f"rights of ServiceAccount {namespace}/scaleproof"
    return _judge("adapter-rights", looked_at, answers, verdict, fix)


def judge_readers(answers: Answers) -> Finding:
    """Whether the HPA controller may read the metrics; Kubernetes' own role says so where nobody has changed it."""
    looked_at = f"rights of ServiceAccount {'/'.join(HPA_CONTROLLER)}"
    if not answers:
        found = "no metric is known to ask for"
        return Finding("metric-readers", looked_at, found, Verdict.OK)
    fix = f"let it list {EXTERNAL_METRICS}/*, as Kubernetes' own ClusterRole system:controller:{HPA_CONTROLLER[1]} does"
    return _judge("metric-readers", looked_at, answers, Verdict.FAIL, fix)


def _judge(check: str, looked_at: str, answers: Answers, verdict: Verdict, fix: str) -> Finding:
    unanswered = [answer for _, answer in answers if isinstance(answer, Refused)]
    if unanswered:
        found = f"cannot be asked: {unanswered[0]}"
        return Finding(check, looked_at, found, Verdict.WARN, "run with rights to create subjectaccessreviews")
    missing = [str(right) for right, answer in answers if not answer]
    if missing:
        return Finding(check, looked_at, f"not allowed: {listed(missing)}", verdict, fix)
    return Finding(check, looked_at, f"allowed: {listed([str(right) for right, _ in answers])}", Verdict.OK)


def judge_authentication_config(document: Document | Refused) -> Finding:
    """Whether the API server says by which certificate it will come, which is what aggregation hangs on."""

    def finding(found: str, verdict: Verdict, fix: str = "") -> Finding:
        where = "ConfigMap kube-system/extension-apiserver-authentication"
        return Finding("authentication-config", where, found, verdict, fix)

    if isinstance(document, Refused):
        return finding(f"cannot be read: {document}", Verdict.WARN, "run with rights to get this ConfigMap")
    data = document.get("data") or {}
    if not data.get("requestheader-client-ca-file"):
        found = "no requestheader-client-ca-file: the API server has no aggregation layer"
        return finding(
            found, Verdict.FAIL, "start kube-apiserver with --requestheader-client-ca-file and --proxy-client-*"
        )
    names = data.get("requestheader-allowed-names", "[]")
    return finding(f"aggregation is set up, allowed names {names}", Verdict.OK)


def judge_version(document: Document | Refused) -> tuple[Finding, str]:
    """The version of the cluster, judged and as the lints of HPAs take it."""
    if isinstance(document, Refused):
        found = f"no version: {document}"
        fix = "give a kubeconfig whose server answers"
        return Finding("kubernetes-version", "/version", found, Verdict.FAIL, fix), ""
    text = str(document.get("gitVersion", ""))
    numbers = text.removeprefix("v").split(".")[:2]
    if len(numbers) < 2 or not all(number.isdecimal() for number in numbers):
        return Finding("kubernetes-version", "/version", f'"{text}" is no version', Verdict.WARN), ""
    version, found = (int(numbers[0]), int(numbers[1])), text
    if version < (1, 30):
        found, verdict, fix = f"{text}: too old", Verdict.FAIL, "upgrade to 1.30 or later"
    elif version < (1, 35):
        found = f"{text}: HPAs have no tolerance and ignore a change of up to 10 %"
        verdict, fix = Verdict.WARN, "upgrade to 1.35, or run the HPA controller with a tolerance of 0"
    else:
        verdict, fix = Verdict.OK, ""
    return Finding("kubernetes-version", "/version", found, verdict, fix), ".".join(numbers)
