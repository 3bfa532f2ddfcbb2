"""The source against servers that fail in every way there is: each is a reason, and comes in time."""

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
from fake_prometheus import (
    Behaviour,
    Exchange,
    FakePrometheus,
    answering,
    cut_off,
    dripping,
    dripping_head,
    endless,
    failing,
    fake_prometheus,
    hanging,
    success,
)

from adapter import prometheus
from adapter.core.samples import Answer, Sample, Series
from adapter.deadlines import Deadline
from adapter.prometheus import PrometheusSource

AT = 1_800_000_000.5


@pytest.fixture
def server() -> Iterator[FakePrometheus]:
    with fake_prometheus(answering(7, pod="a")) as running:
        yield running


def ask(server: FakePrometheus, behaviour: Behaviour | None = None, seconds: float = 1.0) -> Answer:
    if behaviour is not None:
        server.default = behaviour
    with closing(PrometheusSource(server.url + "/")) as source:
        return source.instant("up", AT, Deadline(seconds))


def reason(answer: Answer) -> str:
    assert answer.failure is not None, answer
    return str(answer.failure.reason)


def test_an_answer_is_its_series_with_their_own_times(server: FakePrometheus) -> None:
    assert ask(server) == Answer((Series((("pod", "a"),), (Sample(7.0, AT),)),))
    assert server.times == [AT]


def test_a_matrix_keeps_every_sample(server: FakePrometheus) -> None:
    result = [{"metric": {"pod": "a"}, "values": [[AT - 15, "1"], [AT, "2.5"]]}]
    answer = ask(server, lambda exchange: exchange.send(200, success(result, "matrix")))
    assert answer.series == (Series((("pod", "a"),), (Sample(1.0, AT - 15), Sample(2.5, AT))),)


def test_a_scalar_is_one_series_without_labels(server: FakePrometheus) -> None:
    answer = ask(server, lambda exchange: exchange.send(200, success([AT, "3"], "scalar")))
    assert answer.series == (Series((), (Sample(3.0, AT),)),)


def test_a_range_is_asked_on_the_grid_to_the_millisecond(server: FakePrometheus) -> None:
    seen: dict[str, str] = {}

    def note(exchange: object) -> None:
        seen.update(exchange.parameters)  # type: ignore[attr-defined]
        exchange.send(200, success([], "matrix"))  # type: ignore[attr-defined]

    server.default = note
    with closing(PrometheusSource(server.url)) as source:
        source.range("up", AT - 60, AT, 15, Deadline(1))
    assert (seen["start"], seen["end"], seen["step"]) == ("1799999940.5", "1800000000.5", "15")


@pytest.mark.parametrize(
    ("behaviour", "expected", "words"),
    [
        (failing(503), "upstream-error", "503"),
        (failing(400, b'{"status":"error","error":"parse error at 1:3"}'), "upstream-rejected", "parse error at 1:3"),
        (failing(401, b"go away"), "upstream-rejected", "401"),
        (failing(302, b"", Location="http://login.example/"), "upstream-rejected", "redirects"),
        (failing(200, b"<html>sign in</html>", "text/html"), "upstream-error", "no query result"),
        (failing(200, b'{"status":"error","error":"boom"}'), "upstream-error", "boom"),
        (failing(200, success([{"metric": {}, "value": [1]}])), "upstream-error", "no query result"),
        (failing(200, success({"a": 1})), "upstream-error", "no query result"),
        (failing(200, success([], warnings=["store-2 is unreachable"])), "partial", "store-2 is unreachable"),
        (cut_off, "upstream-error", "cannot be asked"),
        (hanging, "upstream-timeout", "1 s"),
        (dripping, "upstream-timeout", "1 s"),
    ],
    ids=["503", "400", "401", "redirect", "html", "error-200", "no-pair", "no-list", "warning", "cut", "hang", "drip"],
)
def test_every_failure_is_a_reason_with_words(
    server: FakePrometheus, behaviour: Behaviour, expected: str, words: str
) -> None:
    answer = ask(server, behaviour)
    assert reason(answer) == expected
    assert answer.failure is not None
    assert words in answer.failure.message
    assert answer.series == ()


def test_infos_alone_are_no_failure(server: FakePrometheus) -> None:
    result = [{"metric": {}, "value": [AT, "12"]}]
    answer = ask(server, lambda exchange: exchange.send(200, success(result, infos=["metric might not be a counter"])))
    assert [series.samples[0].value for series in answer.series] == [12.0]


def test_a_body_without_end_is_refused_at_the_bound(server: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MAX_BODY_BYTES", 1_000_000)
    answer = ask(server, endless, seconds=5)
    assert reason(answer) == "upstream-error"
    assert answer.failure is not None
    assert "more than 1000000 bytes" in answer.failure.message


def test_a_server_that_recovers_is_asked_again_within_the_time(server: FakePrometheus) -> None:
    good = answering(7, pod="a")
    server.default = lambda exchange: (failing(503) if server.seen["up"] < 3 else good)(exchange)
    assert ask(server, seconds=5).failure is None
    assert server.seen["up"] == 3


def test_a_query_that_is_wrong_is_not_asked_twice(server: FakePrometheus) -> None:
    ask(server, failing(400, b"{}"))
    assert server.seen["up"] == 1


def test_nobody_listening_is_an_upstream_error() -> None:
    with fake_prometheus(hanging) as server:
        url = server.url
    with closing(PrometheusSource(url)) as source:
        answer = source.instant("up", AT, Deadline(0.5))
    assert answer.failure is not None
    assert (str(answer.failure.reason), "refused" in answer.failure.message) == ("upstream-error", True)


def test_a_password_in_the_url_shows_in_no_message(server: FakePrometheus) -> None:
    server.default = failing(503)
    with closing(PrometheusSource(server.url.replace("http://", "http://user:s3cret@"))) as source:
        answer = source.instant("up", AT, Deadline(0.5))
    assert "503" in str(answer.failure)
    assert "s3cret" not in str(answer.failure)


def test_a_deadline_that_ends_wakes_a_thread_that_waits_for_the_head(server: FakePrometheus) -> None:
    server.default = dripping_head
    deadline = Deadline(1.0)
    timer = threading.Timer(1.0, deadline.end)
    timer.start()
    started = time.monotonic()
    with closing(PrometheusSource(server.url)) as source:
        answer = source.instant("up", AT, deadline)
    assert reason(answer) == "upstream-timeout"
    # Without the end of the deadline it would drip for as long as the fixture lives: a minute.
    assert time.monotonic() - started < 30


def test_the_end_of_an_answered_query_leaves_its_connection_to_the_next(server: FakePrometheus) -> None:
    ports: set[int] = set()

    def note(exchange: Exchange) -> None:
        ports.add(exchange.client_address[1])
        answering(7, pod="a")(exchange)

    server.default = note
    with closing(PrometheusSource(server.url)) as source:
        for _ in range(3):
            deadline = Deadline(5)
            assert source.instant("up", AT, deadline).failure is None
            deadline.end()
    assert len(ports) == 1


def test_a_body_that_is_announced_as_too_large_is_not_read(server: FakePrometheus) -> None:
    def announce(exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("Content-Length", str(2 * 1024**3))
        exchange.end_headers()
        exchange.server.closing.wait(60)  # nothing of it ever comes, so whoever reads waits

    answer = ask(server, announce, seconds=30)
    assert reason(answer) == "upstream-error"
    assert answer.failure is not None
    assert "announces 2147483648 bytes, at most 67108864" in answer.failure.message


def test_a_small_body_that_unpacks_to_a_large_one_is_refused(
    server: FakePrometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "MAX_BODY_BYTES", 1_000_000)
    packed = gzip.compress(b" " * 50_000_000)
    assert len(packed) < 100_000
    answer = ask(server, lambda exchange: exchange.send(200, packed, **{"Content-Encoding": "gzip"}), seconds=10)
    assert answer.failure is not None
    assert "more than 1000000 bytes" in answer.failure.message


def test_more_series_than_are_read_are_refused_with_their_number(server: FakePrometheus) -> None:
    result = [{"metric": {"pod": f"p{number}"}, "value": [AT, "1"]} for number in range(100_000)]
    answer = ask(server, lambda exchange: exchange.send(200, success(result)), seconds=30)
    assert answer.failure is not None
    assert (reason(answer), answer.series) == ("upstream-error", ())
    assert "answered with 100000 series, at most 50000 are read" in answer.failure.message


def test_a_deadline_that_ends_wakes_a_thread_in_a_handshake_that_drips() -> None:
    closing_down = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(b"\x16\x03\x03\x40\x00")  # a record of TLS with 16,384 bytes, of which each comes alone
            while not closing_down.wait(0.05):
                connection.sendall(b"\x02")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        dripper = threading.Thread(target=drip, args=(listener,), daemon=True)
        dripper.start()
        deadline = Deadline(1.0)
        timer = threading.Timer(1.0, deadline.end)
        timer.start()
        started = time.monotonic()
        with closing(PrometheusSource(f"https://127.0.0.1:{listener.getsockname()[1]}")) as source:
            answer = source.instant("up", AT, deadline)
        took = time.monotonic() - started
        closing_down.set()
        dripper.join(5)
    assert reason(answer) == "upstream-timeout"
    # Without it all 16,384 bytes would be waited for: 14 minutes.
    assert took < 30
