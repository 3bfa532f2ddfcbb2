"""Certificates on disk change under a running server: good ones come into force, bad ones change nothing."""

import asyncio
import ssl
from pathlib import Path

import pytest
from api_fakes import FakeApiServer
from api_serving import Cluster, serving
from certificates import SERVER, Authority, Pair
from raw_http import client_context, get

from adapter.server import ServerStartError
from adapter.tls import self_signed_pair

LOOKS = 0.3
"""Seconds for some ten looks at the files."""


async def served_certificate(port: int) -> bytes:
    """What the server shows in a new handshake."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context())
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return certificate


class Mounted:
    """A folder as the kubelet mounts a Secret: the files are links through `..data`, which is swapped at once."""

    def __init__(self, folder: Path, pair: Pair) -> None:
        self.folder = folder
        self.version = 0
        self.swap(pair)
        for name in ("tls.crt", "tls.key"):
            (folder / name).symlink_to(Path("..data") / name)

    def swap(self, pair: Pair) -> None:
        self.version += 1
        data = self.folder / f"..v{self.version}"
        data.mkdir()
        (data / "tls.crt").write_text(pair.certificate)
        (data / "tls.key").write_text(pair.key)
        link = self.folder / "..new"
        link.symlink_to(data.name)
        link.replace(self.folder / "..data")

    @property
    def flags(self) -> dict[str, object]:
        return {"tls_cert_file": self.folder / "tls.crt", "tls_private_key_file": self.folder / "tls.key"}


async def test_a_swapped_pair_is_served_and_a_mismatched_one_changes_nothing(tmp_path: Path) -> None:
    """The story of a renewal: old pair, new pair, a broken one, and a good one again."""
    authority = Authority("serving")
    old, new, last = (authority.issue("scaleproof", usage=SERVER) for _ in range(3))
    mounted = Mounted(tmp_path, old)
    errors: list[str] = []
    cluster = Cluster(tmp_path)
    async with serving(
        FakeApiServer(cluster.config_map),
        flags=mounted.flags,
        on_tls_error=lambda: errors.append("bad"),
        reload_seconds=0.02,
    ) as running:
        assert await served_certificate(running.port) == old.der
        mounted.swap(new)
        await asyncio.sleep(LOOKS)
        assert await served_certificate(running.port) == new.der
        mounted.swap(Pair(last.certificate, old.key))
        await asyncio.sleep(LOOKS)
        assert [await served_certificate(running.port) for _ in range(30)] == [new.der] * 30
        assert errors == ["bad"]
        (tmp_path / "..data").unlink()
        await asyncio.sleep(LOOKS)
        assert await served_certificate(running.port) == new.der
        assert errors == ["bad", "bad"]
        mounted.swap(last)
        await asyncio.sleep(LOOKS)
        assert await served_certificate(running.port) == last.der
        assert errors == ["bad", "bad"]


async def test_without_a_pair_one_is_made_that_clients_can_verify(tmp_path: Path) -> None:
    pair = self_signed_pair()
    context = ssl.create_default_context(cadata=pair.certificate.decode())
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (tmp_path / "c").write_bytes(pair.certificate)
    (tmp_path / "k").write_bytes(pair.key)
    server.load_cert_chain(tmp_path / "c", tmp_path / "k")
    listener = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0, ssl=server)
    port = listener.sockets[0].getsockname()[1]
    for name in ("localhost", "127.0.0.1", "scaleproof.scaleproof-system.svc"):
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
        writer.close()
        await writer.wait_closed()
    listener.close()


async def test_old_versions_of_tls_are_refused(tmp_path: Path) -> None:
    context = client_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    async with serving(FakeApiServer(Cluster(tmp_path).config_map)) as running:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await get(running.port, "/healthz", context=context)


async def test_a_client_that_gives_no_server_name_gets_the_pair_of_the_moment(tmp_path: Path) -> None:
    """kubelet probes connect by address, and an address is no server name."""
    authority = Authority("serving")
    old, new = authority.issue("scaleproof", usage=SERVER), authority.issue("scaleproof", usage=SERVER)
    mounted = Mounted(tmp_path, old)
    flags = mounted.flags
    async with serving(FakeApiServer(Cluster(tmp_path).config_map), flags=flags, reload_seconds=0.02) as running:
        mounted.swap(new)
        await asyncio.sleep(LOOKS)
        _, writer = await asyncio.open_connection("127.0.0.1", running.port, ssl=client_context(), server_hostname="")
        assert writer.get_extra_info("ssl_object").getpeercert(binary_form=True) == new.der
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("fault", ["missing", "mismatched", "no-pem"])
async def test_a_bad_pair_at_the_start_is_an_error_that_says_what_to_do(tmp_path: Path, fault: str) -> None:
    authority = Authority("serving")
    certificate, key = authority.issue("a", usage=SERVER).write(tmp_path, "a")
    if fault == "missing":
        key.unlink()
    else:
        key.write_text(authority.issue("b", usage=SERVER).key if fault == "mismatched" else "no key")
    flags = {"tls_cert_file": certificate, "tls_private_key_file": key}
    with pytest.raises(ServerStartError, match="give a PEM certificate chain and its key"):
        async with serving(FakeApiServer({}), flags=flags):
            pass


async def test_a_bad_ca_file_at_the_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ServerStartError, match=r"nosuch\.crt cannot be read"):
        async with serving(FakeApiServer({}), flags={"requestheader_client_ca_file": tmp_path / "nosuch.crt"}):
            pass
