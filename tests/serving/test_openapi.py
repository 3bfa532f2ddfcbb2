"""The served OpenAPI document against the server: Schemathesis draws requests by it and judges the answers by it."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from adapter_process import AdapterProcess, FrontProxy
from grid_policies import policy_text

pytestmark = pytest.mark.slow

DOCUMENT = "/openapi/v3/apis/external.metrics.k8s.io/v1beta1"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
DRAWN = 300


def test_every_drawn_request_is_answered_as_the_document_says(
    folder: Path, tmp_path: Path, serve: Callable[[], AdapterProcess], front_proxy: FrontProxy
) -> None:
    """A metric without a value is 503, which the document names; any 500 would be a fault of ours."""
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = serve()
    seed = random.randrange(2**32)
    command = [
        str(Path(sys.executable).parent / "schemathesis"),
        "--no-color",
        "run",
        f"{adapter.url}{DOCUMENT}",
        f"--url={adapter.url}",
        f"--tls-verify={front_proxy.serving_authority.certificate_file}",
        f"--request-cert={front_proxy.certificate.certificate}",
        f"--request-cert-key={front_proxy.certificate.key}",
        "--header=X-Remote-User: admin",
        "--header=X-Remote-Group: system:masters",
        f"--checks={CHECKS}",
        f"--max-examples={DRAWN}",
        f"--seed={seed}",
        "--phases=examples,coverage,fuzzing",
        "--generation-database=none",
        "--warnings=off",
        "--request-timeout=10",
    ]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "NO_PROXY": "*", "PYTHONUTF8": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path, env=environment)
    print(f"seed {seed}\n{ended.stdout[-3000:]}\n{ended.stderr[-1000:]}")
    assert ended.returncode == 0
    assert adapter.get("/readyz").status_code == 200
