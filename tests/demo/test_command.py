"""`scaleproof demo` from the outside, as its reader runs it: the command, its output, and the lines it prints."""

import json
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

SCALEPROOF = Path(sys.executable).parent / "scaleproof"
PATIENCE = 60.0


class Demo:
    """A running demonstration, its lines passed on as they come."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [SCALEPROOF, "demo", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell's background job ignores Ctrl-C, and so would what is started here.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.threads = [
            threading.Thread(target=self.read, args=(one,)) for one in (self.process.stdout, self.process.stderr)
        ]
        for thread in self.threads:
            thread.start()

    def read(self, stream) -> None:
        for line in stream:
            self.lines.put(line.rstrip("\n"))

    def next(self, wanted) -> str:
        """The next line that is wanted; queue.Empty if none comes."""
        end = time.monotonic() + PATIENCE
        while not wanted(line := self.lines.get(timeout=max(0.0, end - time.monotonic()))):
            pass
        return line

    def finish(self) -> int:
        """Its exit status, once it has ended and everything is read."""
        status = self.process.wait(PATIENCE)
        for thread in self.threads:
            thread.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return status


@pytest.fixture
def demo():
    started = []

    def start(*arguments: str) -> Demo:
        started.append(Demo(*arguments))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()
        one.finish()


def has_signals(line: str) -> bool:
    return line.startswith("{") and all(one["value"] is not None for one in json.loads(line)["signals"])


@pytest.mark.slow
def test_it_shows_signals_its_curl_line_works_and_ctrl_c_ends_it(demo):
    running = demo("--output", "json")
    curl = running.next(lambda line: line.startswith("curl "))
    seen = json.loads(running.next(has_signals))
    assert shutil.which("curl"), "this test needs curl"
    answer = json.loads(subprocess.run(curl, shell=True, check=True, capture_output=True, timeout=20).stdout)
    running.process.send_signal(signal.SIGINT)
    assert running.finish() == 0

    assert answer["kind"] == "ExternalMetricValueList"
    assert answer["items"][0]["metricName"] == "llama-70b-replicas"
    chat = next(one for one in seen["signals"] if one["policy"] == "llama-70b")
    assert {one["name"] for one in chat["why"]["inputs"]} == {"arrivals", "waiting", "gpu", "kv"}
    assert {one["name"] for one in chat["why"]["terms"]} == {"load", "compute", "cache"}
    assert chat["wire"]["status"] == 200


def test_a_folder_without_policies_is_told(demo, tmp_path):
    running = demo("--policies", str(tmp_path))
    assert "no *.yaml" in running.next(lambda line: str(tmp_path) in line)
    assert running.finish() == 2


@pytest.mark.slow
def test_the_kubectl_line_works_as_printed_and_for_ends_it(demo):
    running = demo("--for", "20s")
    kubectl = running.next(lambda line: line.startswith("kubectl "))
    running.next(lambda line: "llama-70b signal " in line)
    # kubectl would ask for a user's name if there were no credentials in the line.
    done = subprocess.run(kubectl, shell=True, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=30)
    assert json.loads(done.stdout)["items"][0]["metricName"] == "llama-70b-replicas"
    assert running.finish() == 0


@pytest.mark.slow
def test_a_demonstration_without_a_single_signal_fails(demo):
    # Too short for the adapter's first evaluation, which comes a second after it is ready at the earliest.
    running = demo("--for", "10ms")
    assert running.next(lambda line: line == "no signal was served in that time")
    assert running.finish() == 1
