"""The front proxy's CA is replaced on disk: what the old one vouched for is over, on open connections and sessions too.

The process is the real one; the same is proved on the watched ConfigMap in tests/cluster.
"""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from adapter_process import METRICS_PATH, AdapterProcess, FrontProxy
from certificate_files import Authority
from child_process import eventually
from fake_prometheus import FakePrometheus
from grid_policies import policy_text
from raw_http import client_context
from saved_session import get_on_saved_session

pytestmark = pytest.mark.slow

IN_FORCE_SECONDS = 60
METRIC = f"{METRICS_PATH}/prod/a"
REQUEST = f"GET {METRIC} HTTP/1.1\r\nHost: h\r\nX-Remote-User: admin\r\nX-Remote-Group: system:masters\r\n\r\n".encode()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


@pytest.mark.parametrize("tls", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"])
def test_an_identity_of_the_old_authority_is_over_on_the_open_connection_and_on_the_saved_session(
    tmp_path: Path, folder: Path, prometheus: FakePrometheus, tls: ssl.TLSVersion, stack: ExitStack
) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    proxy = FrontProxy(tmp_path)
    adapter = AdapterProcess(
        tmp_path,
        folder,
        prometheus.url,
        proxy.serving,
        proxy.serving_authority.certificate_file,
        client=proxy.certificate,
        flags=proxy.flags,
    )
    stack.callback(adapter.close)
    adapter.wait_ready()
    # The session of `requests` keeps its connection from here on.
    eventually(lambda: adapter.metric("prod", "a").status_code == 200, "there is a value", 30)
    context = client_context(proxy.certificate.files)
    context.maximum_version = tls
    first, session, _ = get_on_saved_session(adapter.port, context, REQUEST, None)
    again, _, was_resumed = get_on_saved_session(adapter.port, context, REQUEST, session)
    assert (first, again, was_resumed) == (b"200", b"200", True)

    new = Authority("new-front-proxy-ca", tmp_path)
    new.certificate_file.replace(proxy.authority.certificate_file)
    eventually(
        lambda: adapter.metric("prod", "a").status_code == 401, "the open connection has lost it", IN_FORCE_SECONDS
    )
    after, _, is_resumed = get_on_saved_session(adapter.port, context, REQUEST, session)
    assert (after, is_resumed) == (b"401", True)
    fresh = client_context(new.issue("new-proxy", "front-proxy-client", names=()).files)
    assert get_on_saved_session(adapter.port, fresh, REQUEST, None)[0] == b"200"
    assert adapter.child.is_running
