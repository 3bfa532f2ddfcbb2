"""README and docs do what they say: each command that needs no cluster is run, each policy is checked.

The commands that need a cluster (`kubectl apply -k`, `get --raw`) are run against the real control plane by the tests
of the manifests and of the whole way; here it is held that README shows just those.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from adapter_process import SCALEPROOF
from policy_world import LIBRARY, one, served, tick

from adapter.core.policy_reading import read_policies
from adapter.core.problems import has_errors

ROOT = Path(__file__).parents[2]
PROOFS = [
    "scaleproof test policies/",
    "scaleproof replay --policy policies/ready/vllm-chat.yaml --hpa policies/ready/vllm-chat.hpa.yaml"
    " --trace docs/examples/burst.csv --replicas 5",
]
PAGES = [ROOT / "README.md", ROOT / "docs/policy.md"]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_policy_shown_is_good(page: Path) -> None:
    for text in blocks(page, "yaml"):
        loaded, problems = read_policies(text, str(page), LIBRARY)
        assert len(loaded) == 1, problems
        assert problems == []


def test_the_commands_shown_are_those_that_tests_run() -> None:
    commands = [line for text in blocks(PAGES[0], "sh") for line in text.splitlines()]
    assert commands == [
        "make demo",
        "make test",
        "scaleproof check policies/",
        *PROOFS,
        "scaleproof preflight --policies policies/",
        "kubectl apply -k manifests/overlays/production",
        "kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/inference/llama-70b-replicas",
        "kubectl delete apiservice v1beta1.external.metrics.k8s.io",
        "kubectl delete -k manifests/overlays/production",
        "scaleproof explain inference/llama-70b",
        "kubectl -n scaleproof-system port-forward deployment/scaleproof 8080 &",
        "curl -s 'http://127.0.0.1:8080/explain?policy=llama-70b'",
    ]
    assert "make test" in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize("command", PROOFS, ids=["test", "replay"])
def test_the_proofs_shown_run(command: str) -> None:
    """
    16 arrivals per second ÷ 3.2 = 5. 32 and 48 that wait are 10 + 48 ÷ 480 = 10.1, so 11: 10 at first, since the HPA
    goes from 5 to at most 2 × 5 in 15 s. The queue is gone after a minute, and a window later 11 are 10; then 5 again.
    """
    environment = {**os.environ, "PATH": f"{SCALEPROOF.parent}:{os.environ['PATH']}"}
    ended = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    if "replay" in command:
        changes = re.findall(r"(\d+) → (\d+)", ended.stdout)
        assert changes == [("5", "10"), ("10", "11"), ("11", "10"), ("10", "5")]


def test_the_check_shown_passes_on_the_ready_policies() -> None:
    environment = {**os.environ, "PATH": f"{SCALEPROOF.parent}:{os.environ['PATH']}"}
    ended = subprocess.run(
        ["bash", "-c", "scaleproof check policies/"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stdout
    assert "0 errors, 0 warnings" in ended.stdout


def test_the_problem_shown_is_what_check_says(tmp_path: Path) -> None:
    (shown,) = blocks(PAGES[0], "text")
    (policy,) = blocks(PAGES[0], "yaml")
    (tmp_path / "chat.yaml").write_text(policy.replace("per_replica: 10", "per_replica: 0"))
    ended = subprocess.run([SCALEPROOF, "check", "chat.yaml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stdout.startswith(shown)


def test_the_number_shown_is_what_the_policy_gives() -> None:
    (text,) = blocks(PAGES[0], "yaml")
    (loaded,), problems = read_policies(text, "README.md", LIBRARY)
    assert not has_errors(problems)
    pod = {"namespace": "inference", "model_name": "chat", "pod": "chat-1"}
    world = [
        one("vllm:num_requests_running", 64, **pod),
        one("vllm:num_requests_waiting", 32, **pod),
        one("kube_deployment_spec_replicas", 1, namespace="inference", deployment="chat"),
        one("kube_deployment_status_replicas_ready", 1, namespace="inference", deployment="chat"),
    ]
    assert served(loaded, tick(loaded, world)) == "9600m"


@pytest.mark.slow
def test_make_demo_shows_signals_and_ends() -> None:
    environment = {**os.environ, "PYTHON": sys.executable}
    ended = subprocess.run(
        ["make", "demo", "ARGS=--for 15s"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"llama-70b", ended.stdout)
    assert "approximate" in ended.stdout
