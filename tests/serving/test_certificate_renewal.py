"""Case F3: the serving certificate is replaced on disk while the process runs, then replaced by a mismatched pair."""

import json
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from adapter_process import AdapterProcess, FrontProxy
from certificate_files import KeyPair
from child_process import eventually
from cryptography import x509
from fake_prometheus import FakePrometheus

pytestmark = pytest.mark.slow

EXPECTED = json.loads((Path(__file__).parents[1] / "cases/F3/expect.json").read_text())["expected"]
IN_FORCE_SECONDS = 60


class Mount:
    """A Secret as the kubelet mounts it: files that are links through `..data`, which moves at once."""

    def __init__(self, folder: Path) -> None:
        self.pair = KeyPair(folder / "tls.crt", folder / "tls.key")
        self._folder = folder
        self._versions = 0
        folder.mkdir()
        for file in (self.pair.certificate, self.pair.key):
            file.symlink_to(Path("..data", file.name))

    def swap(self, certificate: Path, key: Path) -> None:
        self._versions += 1
        data = self._folder / f"..version-{self._versions}"
        data.mkdir()
        (data / "tls.crt").write_bytes(certificate.read_bytes())
        (data / "tls.key").write_bytes(key.read_bytes())
        moving = self._folder / "..data_tmp"
        moving.symlink_to(data.name)
        moving.rename(self._folder / "..data")


def serial(adapter: AdapterProcess, pairs: dict[str, KeyPair]) -> str:
    """The letter of the certificate that a new handshake shows."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", adapter.port), timeout=10) as plain, context.wrap_socket(plain) as tls:
        shown = tls.getpeercert(binary_form=True)
    for letter, pair in pairs.items():
        if ssl.PEM_cert_to_DER_cert(pair.certificate.read_text()) == shown:
            return letter
    return "?"


def not_after(pair: KeyPair) -> float:
    return x509.load_pem_x509_certificate(pair.certificate.read_bytes()).not_valid_after_utc.timestamp()


def expiry(adapter: AdapterProcess) -> float:
    found = re.search(r"^scaleproof_certificate_expiry_seconds (\S+)$", adapter.own_metrics(), re.MULTILINE)
    return float(found.group(1)) if found else 0.0


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def test_f3_a_renewed_pair_is_served_without_a_restart_and_a_mismatched_one_changes_nothing(
    tmp_path: Path, folder: Path, prometheus: FakePrometheus, front_proxy: FrontProxy, stack: ExitStack
) -> None:
    issue: Callable[[str], KeyPair] = lambda letter: front_proxy.serving_authority.issue(f"f3-{letter}", "adapter")  # noqa: E731
    pairs = {letter: issue(letter) for letter in "ABC"}
    mount = Mount(tmp_path / "tls")
    mount.swap(pairs["A"].certificate, pairs["A"].key)
    authority = front_proxy.serving_authority.certificate_file
    adapter = AdapterProcess(
        tmp_path, folder, prometheus.url, mount.pair, authority, client=front_proxy.certificate, flags=front_proxy.flags
    )
    stack.callback(adapter.close)
    adapter.wait_ready()
    process = adapter.child.process.pid
    assert adapter.get("/healthz").status_code == 200  # a kept connection, which has to survive
    assert serial(adapter, pairs) == "A"
    assert expiry(adapter) == not_after(pairs["A"])

    mount.swap(pairs["B"].certificate, pairs["B"].key)
    eventually(lambda: serial(adapter, pairs) == "B", "the renewed certificate is shown", IN_FORCE_SECONDS)
    mount.swap(pairs["C"].certificate, pairs["B"].key)
    counted = "scaleproof_tls_reload_errors_total 1.0"
    eventually(lambda: counted in adapter.own_metrics(), "the mismatched pair is counted", IN_FORCE_SECONDS)
    assert [serial(adapter, pairs) for _ in range(30)] == [EXPECTED["serial_at_75s"]] * 30
    assert "serving-pair-refused" in adapter.child.output()
    assert expiry(adapter) == not_after(pairs["B"])
    assert adapter.get("/healthz").status_code == 200
    assert (adapter.child.is_running, adapter.child.process.pid) == (not EXPECTED["restart"], process)
