"""What an operator applies is applied, and what the Deployment describes is started: the whole of manifests/ at work.

The example overlay (the base with a certificate of one's own) goes to the real API server. Its container runs as a
process with the manifest's arguments, volumes, ServiceAccount, user and read-only root. Two things stand in for a Pod
network that is not there: the Service is an ExternalName to this machine, and ports are free ones.
"""

import base64
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import yaml
from adapter_process import METRICS_PATH, SCALEPROOF
from child_process import ChildProcess, eventually, free_port
from cluster import ADAPTER_NAMESPACE, ADAPTER_SERVICE, Cluster
from inference_exporter import InferenceExporter
from pod_process import PodProcess
from prometheus_process import PrometheusProcess

pytestmark = pytest.mark.slow

MANIFESTS = Path(__file__).parents[2] / "manifests"
METRIC = f"{METRICS_PATH}/inference/chat-replicas"
PROMETHEUS = "http://prometheus-operated.monitoring.svc:9090"


@dataclass
class Installation:
    """The applied overlay and the running container."""

    cluster: Cluster
    pod: PodProcess
    child: ChildProcess
    port: int
    reviews_at_start: dict[str, float]

    def get(self, path: str, token: str = "") -> requests.Response:
        """GET from the container itself, past the aggregator."""
        with requests.Session() as session:
            session.trust_env = False
            session.verify = str(self.cluster.authority.certificate_file)
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return session.get(f"https://localhost:{self.port}{path}", headers=headers, timeout=10)

    def reviews(self) -> dict[str, float]:
        """How many reviews the API server has answered since the start, and how many such requests it refused."""
        now = count_reviews(self.cluster)
        return {name: count - self.reviews_at_start[name] for name, count in now.items()}


def count_reviews(cluster: Cluster) -> dict[str, float]:
    counts = {"tokenreviews": 0.0, "subjectaccessreviews": 0.0, "refused": 0.0}
    for line in cluster.response("/metrics", accept="text/plain").text.splitlines():
        if not line.startswith("apiserver_request_total{"):
            continue
        labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
        if labels["resource"] not in ("tokenreviews", "subjectaccessreviews", "configmaps"):
            continue
        if labels["code"] == "403":
            counts["refused"] += float(line.rpartition(" ")[2])
        elif labels["code"] == "201" and labels["resource"] in counts:
            counts[labels["resource"]] += float(line.rpartition(" ")[2])
    return counts


def render(cluster: Cluster, folder: Path) -> list[dict[str, Any]]:
    """The example overlay, with the certificate for the Service's name that the cluster's authority has signed."""
    shutil.copytree(MANIFESTS, folder)
    certificates = folder / "overlays/example/certificates"
    certificates.mkdir()
    for name, file in (
        ("tls.crt", cluster.serving.certificate),
        ("tls.key", cluster.serving.key),
        ("ca.crt", cluster.authority.certificate_file),
    ):
        shutil.copy(file, certificates / name)
    text = cluster.kubectl("kustomize", str(folder / "overlays/example"))
    return [each for each in yaml.safe_load_all(text) if each]


def to_this_machine(document: dict[str, Any], host: str, port: int) -> dict[str, Any]:
    """The object as it stands, but for the way from the aggregator to a Pod."""
    if document["kind"] == "Service":
        spec = {"type": "ExternalName", "externalName": host, "ports": [{"port": port}]}
        return {**document, "spec": spec}
    if document["kind"] == "APIService":
        document["spec"]["service"]["port"] = port
    return document


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def delete_deployment(cluster: Cluster) -> None:
    """Nothing else of the installation runs or stands in the way of the next test."""
    cluster.kubectl("delete", "deployment", "scaleproof", f"--namespace={ADAPTER_NAMESPACE}", "--ignore-not-found")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusProcess]:
    """34 requests in flight on two pods of Deployment `chat`: 3.4 replicas at ten each."""
    with ExitStack() as stack:
        exporter = InferenceExporter("inference", "chat", "chat")
        stack.callback(exporter.close)
        exporter.set_pods("chat-1", "chat-2")
        exporter.set_load(34)
        exporter.wait_until_shown()
        prometheus = PrometheusProcess(tmp_path_factory.mktemp("prometheus"), exporter.jobs())
        stack.callback(prometheus.close)
        yield prometheus


@pytest.fixture(scope="module")
def installation(
    cluster: Cluster, world: PrometheusProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scaleproof-pod-")))
        folder.chmod(0o755)  # pytest's own folders are closed to the user of the Pod
        port, metrics_port = free_port(), free_port()
        documents = render(cluster, tmp_path_factory.mktemp("installation") / "manifests")
        by_kind = {each["kind"]: each for each in documents}
        cluster.kubectl("delete", "service", ADAPTER_SERVICE, f"--namespace={ADAPTER_NAMESPACE}", "--ignore-not-found")
        cluster.apply(by_kind["Namespace"])
        stack.callback(cluster.unregister_adapter)
        stack.callback(delete_deployment, cluster)
        applied = [to_this_machine(each, cluster.host, port) for each in documents]
        # The APIService last: one that finds nobody is asked again after 30 s only.
        rest = [each for each in applied if each["kind"] != "APIService"]
        cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(rest))

        specification = by_kind["Deployment"]["spec"]["template"]["spec"]
        pod = PodProcess(specification, folder, SCALEPROOF)
        pod.add_volume("tls", {name: decoded(text) for name, text in by_kind["Secret"]["data"].items()})
        pod.add_volume("policies", by_kind["ConfigMap"]["data"])
        token = cluster.service_account_token(ADAPTER_NAMESPACE, specification["serviceAccountName"])
        config = json.loads(cluster.kubectl("config", "view", "--raw", "--minify", "--flatten", "--output=json"))
        server = config["clusters"][0]["cluster"]
        pod.add_service_account(token, decoded(server["certificate-authority-data"]), ADAPTER_NAMESPACE)
        address = urlsplit(server["server"])
        before = count_reviews(cluster)
        child = pod.start(
            {
                "6443": str(port),
                ":8080": f":{metrics_port}",
                PROMETHEUS: PROMETHEUS.replace("9090", str(world.port)) if pod.is_isolated else world.url,
            },
            {"KUBERNETES_SERVICE_HOST": str(address.hostname), "KUBERNETES_SERVICE_PORT": str(address.port or 443)},
            "127.0.0.1 prometheus-operated.monitoring.svc",
            cluster.service_account_kubeconfig(ADAPTER_NAMESPACE, specification["serviceAccountName"]),
        )
        stack.callback(child.kill)
        child.wait_for_line("ready https://", 60)
        cluster.apply(by_kind["APIService"])
        yield Installation(cluster, pod, child, port, before)


def allow_reading(metric: str, reader: str) -> list[dict[str, Any]]:
    """A role in namespace `inference` that lets ServiceAccount `default` of namespace `reader` list one metric."""
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": ["external.metrics.k8s.io"], "resources": [metric], "verbs": ["list"]}
    return [
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "read-metric"}, "rules": [rule]},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "read-metric"},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "read-metric"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": reader}],
        },
    ]


def test_the_applied_manifests_make_the_api_available_and_serve_the_policys_value(
    cluster: Cluster, installation: Installation
) -> None:
    """Available means: the aggregator trusts the certificate by caBundle, and is known by its own certificate."""
    cluster.wait_available()

    def value() -> str | None:
        response = cluster.response(METRIC)
        return response.json()["items"][0]["value"] if response.ok else None

    assert eventually(value, "the value is served through the aggregator", 60) == "3400m"
    assert_nothing_was_refused(installation)


def test_who_may_list_the_metric_reads_it_and_who_may_not_does_not(
    cluster: Cluster, installation: Installation
) -> None:
    """Through the aggregator, where the API server judges, and past it, where the adapter asks the API server to."""
    cluster.wait_available()
    eventually(lambda: cluster.response(METRIC).ok, "the value is served", 60)
    with cluster.namespace("inference"), cluster.namespace("allowed") as allowed, cluster.namespace("other") as other:
        cluster.apply(*allow_reading("chat-replicas", allowed), namespace="inference")
        reader, stranger = (cluster.service_account_kubeconfig(name, "default") for name in (allowed, other))
        read = json.loads(cluster.kubectl(f"--kubeconfig={reader}", "get", "--raw", METRIC))
        assert [each["value"] for each in read["items"]] == ["3400m"]
        with pytest.raises(AssertionError, match="Forbidden"):
            cluster.kubectl(f"--kubeconfig={stranger}", "get", "--raw", METRIC)

        before = installation.reviews()
        tokens = [cluster.service_account_token(name, "default") for name in (allowed, other)]
        assert [installation.get(METRIC, token).status_code for token in tokens] == [200, 403]
        assert installation.get(METRIC).status_code == 403
        assert installation.get(METRIC, "no token of anybody").status_code == 401

    # Three tokens, of which one is nobody's; the two users that are known and the anonymous one are then judged. The
    # aggregator's requests bring more users to judge, and no token.
    reviews = {name: count - before[name] for name, count in installation.reviews().items()}
    assert reviews["tokenreviews"] == 3
    assert reviews["subjectaccessreviews"] >= 3
    assert_nothing_was_refused(installation)


def test_preflight_finds_nothing_to_mend_in_it(
    cluster: Cluster, world: PrometheusProcess, installation: Installation
) -> None:
    """With the policies that it finds installed, and the value that the API answers; but the test's CA lives a day."""
    cluster.wait_available()
    eventually(lambda: cluster.response(METRIC).ok, "the value is served", 60)
    command = [SCALEPROOF, "preflight", f"--kubeconfig={cluster.kubeconfig}", f"--prometheus={world.url}"]
    ended = subprocess.run([*command, "--output=json"], capture_output=True, text=True, timeout=60)
    findings = {one["check"]: one for one in json.loads(ended.stdout)["findings"]}
    told = {check: one["verdict"] for check, one in findings.items() if one["verdict"] != "ok"}
    assert told == {"api-service-certificate": "warn"}
    assert findings["signals"]["found"] == "served: inference/chat-replicas 3400m"
    assert ended.returncode == 0


def test_the_container_runs_as_the_pods_user_without_rights_on_a_read_only_root(installation: Installation) -> None:
    """Not so for a user that is not root: nobody else may take on another user's number, or mount anything."""
    if not installation.pod.is_isolated:
        assert installation.child.is_running
        return
    own = Path(f"/proc/{installation.child.process.pid}")
    status = dict(line.split(":", 1) for line in (own / "status").read_text().splitlines())
    assert status["Uid"].split() == ["65532"] * 4
    assert status["Gid"].split() == ["65532"] * 4
    assert {status[name].strip() for name in ("CapEff", "CapPrm", "CapBnd", "CapInh")} == {"0" * 16}
    assert status["NoNewPrivs"].strip() == "1"
    mounts = [line.split() for line in (own / "mountinfo").read_text().splitlines()]
    options = {each[4]: each[5].split(",") for each in mounts}
    assert "ro" in options["/"]
    assert "rw" in options["/tmp"]
    # The key that OpenSSL was given is gone again. The program may stand below /tmp itself, as a checkout there does.
    programs = [Path(each) for each in (sys.prefix, sys.base_prefix) if Path(each).is_relative_to("/tmp")]
    ways = {each.relative_to("/tmp").parts[0] for each in programs}
    assert {each.name for each in (own / "root/tmp").iterdir()} == ways


def assert_nothing_was_refused(installation: Installation) -> None:
    """Neither does the adapter say so nor has the API server refused a review or the ConfigMap to anybody."""
    log = installation.child.output()
    assert re.search(r"forbidden|denied|refused|not-read|\b403\b|Traceback|error", log, re.IGNORECASE) is None, log
    assert installation.reviews()["refused"] == 0
