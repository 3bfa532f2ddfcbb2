"""Who asks, and how it is kept secret: against real servers that look at what they were sent."""

import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from certificate_files import Authority, KeyPair
from fake_prometheus import Exchange, FakePrometheus, answering, failing, fake_prometheus, success

from adapter.core.samples import Answer
from adapter.deadlines import Deadline
from adapter.prometheus import PrometheusSource
from adapter.source_credentials import Credentials, SecretFile
from adapter.source_settings import SourceSettings

AT = 1_800_000_000.0
SECRET = "s3cret-token-0001"


@pytest.fixture
def server() -> Iterator[FakePrometheus]:
    with fake_prometheus(answering(7, pod="a")) as running:
        yield running


def source(url: str, **more: object) -> PrometheusSource:
    settings = SourceSettings.model_validate({"url": url, **more})
    return PrometheusSource(settings.url, settings=settings)


def ask(asked: PrometheusSource, namespace: str = "prod") -> Answer:
    return asked.instant("up", AT, Deadline(5), namespace=namespace, only_once=True)


def words(answer: Answer) -> str:
    assert answer.failure is not None, answer
    return str(answer.failure)


def swap(path: Path, text: str) -> None:
    """Put another file in the place of one, as the kubelet does: never half written."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def test_a_bearer_token_is_read_again_when_its_file_changes(server: FakePrometheus, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n")
    with closing(source(server.url, bearer_token_file=file)) as asked:
        ask(asked)
        swap(file, "another-token")
        ask(asked)
    assert [headers["authorization"] for _, headers in server.asked] == [f"Bearer {SECRET}", "Bearer another-token"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, "cannot be read: No such file"), ("", "holds no bearer token"), ("two\nlines", "holds no bearer token")],
    ids=["missing", "empty", "two-lines"],
)
def test_a_token_that_cannot_be_used_is_told_by_its_file_and_nothing_is_asked(
    server: FakePrometheus, tmp_path: Path, text: str | None, expected: str
) -> None:
    file = tmp_path / "token"
    if text is not None:
        file.write_text(text)
    with closing(source(server.url, bearer_token_file=file)) as asked:
        told = words(ask(asked))
        assert told.startswith("upstream-error")
        assert str(file) in told
        assert expected in told
        assert not server.asked
        file.write_text(SECRET)
        assert ask(asked).failure is None


def test_a_user_with_a_password_file_asks_by_basic_authentication(server: FakePrometheus, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("open sesame\n")
    with closing(source(server.url, basic_auth={"username": "Aladdin", "password_file": file})) as asked:
        ask(asked)
    # The example of RFC 7617 is `Aladdin:open sesame`.
    assert server.asked[0][1]["authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="


def test_a_password_in_the_url_is_sent_and_not_part_of_any_url_after(server: FakePrometheus) -> None:
    with closing(source(server.url.replace("http://", "http://Aladdin:open%20sesame@"))) as asked:
        ask(asked)
        assert (asked.url, "sesame" in asked.host) == (server.url, False)
    assert server.asked[0][1]["authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="


def test_headers_and_parameters_may_name_the_namespace_of_the_policy(server: FakePrometheus) -> None:
    more = {"headers": {"X-Scope-OrgID": "team-{namespace}"}, "parameters": {"dedup": "true", "extra": "{namespace}"}}
    with closing(source(server.url, **more)) as asked:
        ask(asked, "prod")
        ask(asked, "staging")
        asked.range("up", AT - 30, AT, 15, Deadline(5), namespace="prod")
    assert [headers["x-scope-orgid"] for _, headers in server.asked] == ["team-prod", "team-staging", "team-prod"]
    assert [(found["dedup"], found["extra"]) for found, _ in server.asked] == [
        ("true", "prod"),
        ("true", "staging"),
        ("true", "prod"),
    ]
    assert server.asked[0][0]["query"] == "up"


def test_what_a_server_repeats_of_a_secret_is_not_told(server: FakePrometheus, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(SECRET)

    def repeat(exchange: Exchange) -> None:
        sent = exchange.headers["Authorization"]
        exchange.send(401, f'{{"status": "error", "error": "not known: {sent}"}}'.encode())

    def warn(exchange: Exchange) -> None:
        exchange.send(200, success([], warnings=[f"asked with {exchange.headers['Authorization']}"]))

    with closing(source(server.url, bearer_token_file=file)) as asked:
        for behaviour in (repeat, warn):
            server.default = behaviour
            told = words(ask(asked))
            assert "Bearer ***" in told
            assert SECRET not in told


def test_a_secret_is_in_no_text_of_what_holds_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(SECRET)
    held = SecretFile(file, "token")
    held.read()
    settings = SourceSettings(url="http://p", bearer_token_file=file)
    assert SECRET not in repr(held) + repr(Credentials(settings)) + repr(settings)


def test_nobody_is_sent_a_credential_by_a_redirect(server: FakePrometheus, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(SECRET)
    with fake_prometheus(answering(1)) as elsewhere, closing(source(server.url, bearer_token_file=file)) as asked:
        server.default = failing(302, b"", Location=f"{elsewhere.url}/login?token={SECRET}")
        told = words(ask(asked))
        assert told.startswith("upstream-rejected")
        assert SECRET not in told
        assert not elsewhere.asked


def tls(pair: KeyPair, client_ca: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair.files)
    if client_ca is not None:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_a_server_is_trusted_by_the_ca_of_its_source_alone(tmp_path: Path) -> None:
    ours, other = Authority("ours", tmp_path), Authority("other", tmp_path)
    with fake_prometheus(answering(7), tls(ours.issue("server", "127.0.0.1"))) as server:
        for ca_file in (None, other.certificate_file):
            with closing(source(server.url, ca_file=ca_file)) as asked:
                told = words(ask(asked))
                assert told.startswith("upstream-error")
                assert "certificate is not trusted" in told
        with closing(source(server.url, ca_file=ours.certificate_file)) as asked:
            assert ask(asked).failure is None


def test_a_renewed_client_certificate_is_shown_on_the_next_connection(tmp_path: Path) -> None:
    authority = Authority("ours", tmp_path)
    first, second = authority.issue("first", "first"), authority.issue("second", "second")
    seen: list[str] = []

    def note(exchange: Exchange) -> None:
        found: dict[str, tuple[tuple[tuple[str, str]]]] = exchange.connection.getpeercert()  # type: ignore[attr-defined]
        seen.append(found["subject"][0][0][1])
        exchange.close_connection = True
        exchange.send(200, success([]), Connection="close")

    context = tls(authority.issue("server", "127.0.0.1"), authority.certificate_file)
    client = {"client_cert_file": first.certificate, "client_key_file": first.key}
    with fake_prometheus(note, context) as server:
        with closing(source(server.url, ca_file=authority.certificate_file)) as stranger:
            assert words(ask(stranger)).startswith("upstream-error")
        with closing(source(server.url, ca_file=authority.certificate_file, **client)) as asked:
            assert ask(asked).failure is None
            second.certificate.replace(first.certificate)
            second.key.replace(first.key)
            assert ask(asked).failure is None
    assert seen == ["first", "second"]


def test_a_ca_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with closing(source("https://127.0.0.1:1", ca_file=tmp_path / "none.crt")) as asked:
        told = words(ask(asked))
    assert told.startswith("upstream-error")
    assert "none.crt" in told
