"""Who serves the external metrics API, whether the API server reaches it, and by what certificate it is known.

A cluster has one APIService of that name, so whoever applies it last owns it. Judges what was read; reads nothing.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509

from adapter.kube_objects import Document, Refused
from adapter.preflight.findings import Finding, Verdict

NAME = "v1beta1.external.metrics.k8s.io"
LOOKED_AT = f"APIService {NAME}"
SOON = timedelta(days=30)

_OWNERS = (
    ("keda", "KEDA"),
    ("cluster-agent", "Datadog"),
    ("datadog", "Datadog"),
    ("prometheus-adapter", "prometheus-adapter"),
    ("kube-metrics-adapter", "kube-metrics-adapter"),
    ("stackdriver", "the Stackdriver adapter"),
    ("azure", "the Azure adapter"),
    ("cloudwatch", "the CloudWatch adapter"),
)
"""A part of the Service's name → who that is."""

_UNAVAILABLE = {
    "ServiceNotFound": "its Service does not exist: kubectl apply -k of your overlay",
    "ServicePortError": "the Service has no such port: spec.service.port has to be one of the Service's ports, 443",
    "ServiceAccessError": "the API server could not read the Service; it asks again by itself",
    "EndpointsNotFound": "no pod is behind the Service: kubectl -n {namespace} get pods",
    "EndpointsAccessError": "the API server could not read the endpoints; it asks again by itself",
    "MissingEndpoints": "no ready pod is behind the Service: kubectl -n {namespace} get pods, and their logs",
}
_FAILED_DISCOVERY = (
    ("x509", "caBundle has to hold the authority of the serving certificate, whose name is {service}.{namespace}.svc"),
    ("certificate", "caBundle has to hold the authority of the serving certificate"),
    ("401", "the adapter does not know the aggregator: see check authentication-config, and the adapter's log"),
    ("403", "the adapter may not ask who the aggregator is: see check adapter-rights"),
    ("refused", "nothing listens on the target port: kubectl -n {namespace} get pods"),
    ("deadline", "the control plane cannot reach the pods: open its way to port 6443 (firewall, NetworkPolicy)"),
    ("timeout", "the control plane cannot reach the pods: open its way to port 6443 (firewall, NetworkPolicy)"),
)
"""A word of the message → what to do."""


def service_of(document: Document | Refused) -> tuple[str, str] | None:
    """Namespace and name of the Service behind the APIService."""
    service = document.get("spec", {}).get("service") if not isinstance(document, Refused) else None
    return (str(service.get("namespace")), str(service.get("name"))) if service else None


def is_ours(document: Document | Refused, namespace: str) -> bool:
    """Whether the APIService leads to the adapter of that namespace."""
    return service_of(document) == (namespace, "scaleproof")


def judge_owner(document: Document | Refused, namespace: str) -> Finding:
    """Whose the API is now."""

    def finding(found: str, verdict: Verdict, fix: str = "") -> Finding:
        return Finding("api-service-owner", LOOKED_AT, found, verdict, fix)

    if isinstance(document, Refused):
        if document.status == 404:
            return finding("nobody's: installing takes nobody's place", Verdict.OK)
        return finding(f"cannot be read: {document}", Verdict.WARN, "run with rights to get apiservices")
    service = service_of(document)
    if service is None:
        fix = "delete it and apply manifests/base/api-service.yaml"
        return finding("without a Service: the API server itself would serve it", Verdict.FAIL, fix)
    where = "/".join(service)
    if is_ours(document, namespace):
        return finding(f"ours: {where}", Verdict.OK)
    if service[1] == "scaleproof":
        return finding(f"a scaleproof in another namespace: {where}", Verdict.FAIL, f"give --namespace {service[0]}")
    owner = next((name for part, name in _OWNERS if part in service[1]), "another adapter")
    fix = "installing takes its place, and its HPAs lose their metrics: hand over as docs/installation.md says"
    return finding(f"{owner}'s: {where}", Verdict.FAIL, fix)


def judge_availability(document: Document) -> Finding:
    """Whether the API server reaches what stands behind."""
    conditions = document.get("status", {}).get("conditions", [])
    available: Mapping[str, Any] = next((one for one in conditions if one.get("type") == "Available"), {})
    reason, message = str(available.get("reason", "")), str(available.get("message", ""))
    if available.get("status") == "True":
        return Finding("api-service-available", LOOKED_AT, "available", Verdict.OK)
    if not available:
        fix = "wait a few seconds and run this again"
        return Finding("api-service-available", LOOKED_AT, "not looked at by the API server yet", Verdict.FAIL, fix)
    namespace, service = service_of(document) or ("", "")
    fix = _UNAVAILABLE.get(reason) or next(
        (advice for word, advice in _FAILED_DISCOVERY if word in message), "see the adapter's log"
    )
    found = f"not available, {reason}: {message}"[:400]
    fix = fix.format(namespace=namespace, service=service)
    return Finding("api-service-available", LOOKED_AT, found, Verdict.FAIL, fix)


def judge_certificate(document: Document, now: datetime) -> Finding:
    """By what the API server knows that it is the adapter who answers."""

    def finding(found: str, verdict: Verdict, fix: str = "") -> Finding:
        return Finding("api-service-certificate", f"{LOOKED_AT}, spec.caBundle", found, verdict, fix)

    spec = document["spec"]
    if spec.get("insecureSkipTLSVerify"):
        found = "insecureSkipTLSVerify: whoever answers at the Service's address scales the workloads"
        return finding(found, Verdict.WARN, "give spec.caBundle and remove insecureSkipTLSVerify")
    if not spec.get("caBundle"):
        found = "empty: the API server looks among its machine's own authorities"
        return finding(found, Verdict.FAIL, "give the certificate's authority: docs/installation.md, Certificates")
    try:
        authorities = x509.load_pem_x509_certificates(base64.b64decode(spec["caBundle"], validate=True))
    except (binascii.Error, ValueError) as error:
        return finding(f"no PEM certificates: {error}"[:200], Verdict.FAIL, "give base64 -w0 of the PEM file")
    # Any of them may be the one in use; the bundle is good as long as its last one is.
    last = max(authorities, key=lambda one: one.not_valid_after_utc)
    subjects = ", ".join(one.subject.rfc4514_string() for one in authorities)
    until = last.not_valid_after_utc
    if "keda" in subjects.lower():
        found = f"KEDA's authority ({subjects}): its operator writes it into whichever APIService has this name"
        fix = "run KEDA's operator with its certificate rotation off, or not at all: docs/installation.md, Handing over"
        return finding(found, Verdict.FAIL, fix)
    if until <= now.astimezone(UTC):
        return finding(f"{subjects}, ended {until:%Y-%m-%d}", Verdict.FAIL, "renew the authority and the certificate")
    verdict = Verdict.WARN if until - now.astimezone(UTC) < SOON else Verdict.OK
    fix = "put the next authority beside this one, then renew the certificate" if verdict is Verdict.WARN else ""
    return finding(f"{subjects}, until {until:%Y-%m-%d}", verdict, fix)
