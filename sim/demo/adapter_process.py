"""The adapter as a process of its own: the unchanged `scaleproof serve`, on loopback, and two ways to ask it.

The demonstration knows it only from outside: what it prints when it is ready, its /explain, and the metric GET that the
HorizontalPodAutoscaler would send.
"""

import json
import os
import queue
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

START_SECONDS = 60.0
STOP_SECONDS = 20.0
ASK_SECONDS = 3.0
MAX_ANSWER_BYTES = 10_000_000
PREFIX = "/apis/external.metrics.k8s.io/v1beta1"


class AdapterFailed(Exception):
    """The adapter did not start, ended early, or does not answer; the message carries what it said last."""


class AdapterProcess:
    """A started adapter; `close` ends it."""

    def __init__(self, policies: Path, prometheus: str, log: Path) -> None:
        self._log = log
        self.url = self.metrics_url = ""
        # What the caller's environment says about a real adapter is not meant for this one.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SCALEPROOF_")}
        with log.open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own command line
                [
                    *(sys.executable, "-m", "adapter", "serve", "--policies", str(policies)),
                    *("--prometheus", prometheus, "--authorization-mode", "AlwaysAllow"),
                    *("--bind-address", "127.0.0.1", "--secure-port", "0", "--metrics-bind-address", "127.0.0.1:0"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                text=True,
            )
        # The certificate is made for this run and signed by nobody; the connection never leaves the machine.
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE

    def wait_until_ready(self) -> None:
        """Read its addresses from what it prints; AdapterFailed if they do not come."""
        lines: queue.Queue[str] = queue.Queue(maxsize=100)
        if self._process.stdout is None:
            raise AdapterFailed("the adapter has no standard output")
        threading.Thread(target=_pass_on, args=(self._process.stdout, lines), daemon=True).start()
        while not self.url:
            try:
                word, _, address = lines.get(timeout=START_SECONDS).strip().partition(" ")
            except queue.Empty:
                raise AdapterFailed(
                    f"the adapter was not ready within {START_SECONDS:g} s{self._last_words()}"
                ) from None
            match word:
                case "metrics":
                    self.metrics_url = address
                case "ready":
                    self.url = address
                case "":
                    raise AdapterFailed(f"the adapter ended before it was ready{self._last_words()}")
                case _:
                    continue

    def check_alive(self) -> None:
        """AdapterFailed if the process has ended."""
        if self._process.poll() is not None:
            raise AdapterFailed(f"the adapter ended with status {self._process.returncode}{self._last_words()}")

    def explain(self) -> list[dict[str, Any]]:
        """Every signal with its account."""
        status, body = self._get(self.metrics_url.removesuffix("/metrics") + "/explain")
        if status != 200:
            raise AdapterFailed(f"/explain answered {status}")
        signals: list[dict[str, Any]] = body["signals"]
        return signals

    def metric_path(self, namespace: str, metric: str) -> str:
        """The path that the HorizontalPodAutoscaler asks."""
        return f"{PREFIX}/namespaces/{namespace}/{metric}"

    def ask_metric(self, namespace: str, metric: str) -> dict[str, Any]:
        """What the metric GET gave: its status, and the value's text or the reason of the error."""
        status, body = self._get(self.url + self.metric_path(namespace, metric))
        if status == 200:
            return {"status": status, "value": body["items"][0]["value"]}
        causes = (body.get("details") or {}).get("causes") or [{}]
        return {"status": status, "reason": causes[0].get("reason", body.get("reason"))}

    def close(self) -> None:
        """SIGTERM, and no mercy for one that does not end in time."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(STOP_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _get(self, url: str) -> tuple[int, Mapping[str, Any]]:
        try:
            with urllib.request.urlopen(url, timeout=ASK_SECONDS, context=self._context) as answer:  # noqa: S310 - own
                return answer.status, json.loads(answer.read(MAX_ANSWER_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read(MAX_ANSWER_BYTES))
        except (OSError, ValueError) as error:
            self.check_alive()
            raise AdapterFailed(f"{url} cannot be asked: {error}") from error

    def _last_words(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
        return "".join(f"\n  {line[:500]}" for line in lines)


def _pass_on(stream: IO[str], lines: "queue.Queue[str]") -> None:
    """Pass lines on to whoever waits for them; an empty one is the end. What nobody waits for any more is dropped."""
    try:
        for line in stream:
            if not lines.full():
                lines.put(line)
    except ValueError:
        return  # closed while it was read
    if not lines.full():
        lines.put("")
