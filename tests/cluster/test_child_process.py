"""Programs that tests start end with the tests, by whatever means those end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from child_process import ChildProcess, NotInTimeError, eventually, free_port

SUPPORT = Path(__file__).parents[1] / "support"


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_child_ends_when_the_test_process_is_killed(tmp_path: Path) -> None:
    script = (
        f"import sys, time; sys.path.insert(0, {str(SUPPORT)!r}); from pathlib import Path\n"
        f"from child_process import ChildProcess\n"
        f"child = ChildProcess(['sleep', '600'], Path({str(tmp_path / 'log')!r}))\n"
        f"print(child.process.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        # Until the guard has become the program itself, it has not yet asked to die with its parent.
        eventually(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"), "the child runs", 10)
        assert is_alive(pid)
        os.kill(parent.pid, signal.SIGKILL)
    eventually(lambda: not is_alive(pid), "the child has ended", 10)


def test_killing_a_child_ends_what_it_started_too(tmp_path: Path) -> None:
    child = ChildProcess(["bash", "-c", "sleep 600 & echo started $!; wait"], tmp_path / "log")
    grandchild = int(child.wait_for_line("started ").split()[1])
    assert child.kill() == -signal.SIGKILL
    eventually(lambda: not is_alive(grandchild), "the grandchild has ended", 10)


def test_waiting_for_a_program_that_ended_fails_at_once_and_shows_its_log(tmp_path: Path) -> None:
    child = ChildProcess(["bash", "-c", "echo no such flag; exit 2"], tmp_path / "log")
    with pytest.raises(NotInTimeError, match=r"(?s)ended with 2.*no such flag"):
        child.wait_for_line("ready")


def test_free_ports_are_below_those_that_the_kernel_gives_to_outgoing_connections() -> None:
    first_ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert free_port() < first_ephemeral
