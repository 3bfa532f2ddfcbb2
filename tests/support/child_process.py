"""Real programs as children of a test: started with a log, waited for, and never left behind.

Knows nothing of what it runs. Each child leads its own process group, so that its own children end with it, and the
kernel kills it when the test process dies by whatever means (`setpriv --pdeathsig`), a SIGKILL of pytest included.
"""

import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from os import environ, getpgid, killpg
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

OWN_PORTS = range(20_000, 32_000)
"""Below the kernel's ephemeral ports (32768 up): a stopped server's port must still be free when it starts again, so no
outgoing connection may be given it meanwhile."""


class NotInTimeError(AssertionError):
    """What a test waited for did not come; the message says what, for how long, and what was seen last."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on now and that the kernel gives to nobody by itself."""
    for port in random.sample(OWN_PORTS, 200):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise NotInTimeError("no free port among 200 tried")


def eventually(probe: Callable[[], T | None], what: str, timeout_seconds: float = 30, every_seconds: float = 0.1) -> T:
    """Ask `probe` again and again until it answers something true; errors of the network count as "not yet"."""
    deadline = time.monotonic() + timeout_seconds
    last: object = None
    while True:
        try:
            last = answer = probe()
            if answer:
                return answer
        except (OSError, subprocess.SubprocessError) as error:
            last = error
        if time.monotonic() > deadline:
            raise NotInTimeError(f"not within {timeout_seconds:g} s: {what}; last seen: {last!r}")
        time.sleep(every_seconds)


class ChildProcess:
    """One running program, its log and its end."""

    def __init__(
        self, arguments: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.arguments = [str(argument) for argument in arguments]
        self.log = log
        setpriv = shutil.which("setpriv")  # part of util-linux; elsewhere than on Linux a killed pytest leaves children
        guard = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*guard, *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**environ, **(environment or {})},
                cwd=log.parent,
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def output(self, last_bytes: int = 20_000) -> str:
        return self.log.read_bytes()[-last_bytes:].decode(errors="replace")

    def wait_until(self, probe: Callable[[], T | None], what: str, timeout_seconds: float = 30) -> T:
        """Wait like `eventually`, but fail at once, and with the log's end, when the program ends before."""

        def probe_while_running() -> T | None:
            if not self.is_running:
                raise NotInTimeError(f"{self.arguments[:2]} ended with {self.process.returncode}")
            return probe()

        try:
            return eventually(probe_while_running, what, timeout_seconds)
        except NotInTimeError as error:
            raise NotInTimeError(f"{error}\n--- {self.log}\n{self.output(4000)}") from None

    def wait_for_line(self, start: str, timeout_seconds: float = 30, skip_bytes: int = 0) -> str:
        """Return the first line of the log, past `skip_bytes`, that begins with `start`."""

        def line() -> str | None:
            text = self.log.read_bytes()[skip_bytes:].decode(errors="replace")
            complete = text[: text.rfind("\n") + 1].splitlines()
            return next((each for each in complete if each.startswith(start)), None)

        return self.wait_until(line, f"a line that begins with {start!r}", timeout_seconds)

    def stop(self, timeout_seconds: float = 15) -> int:
        """Ask for an end (SIGTERM), wait, insist; return the exit status."""
        self.send(signal.SIGTERM)
        try:
            return self.process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End the program and all that it started, at once."""
        self.send(signal.SIGKILL)
        return self.process.wait(10)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; a program that has ended is let be."""
        if self.is_running:
            with suppress(ProcessLookupError):
                killpg(getpgid(self.process.pid), number)
