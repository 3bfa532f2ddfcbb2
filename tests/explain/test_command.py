"""`scaleproof explain` at a metrics address: the sentence first, and what to do when there is none."""

import asyncio
import json
from pathlib import Path

import pytest
from child_process import free_port
from click.testing import Result
from typer.testing import CliRunner

from adapter.account_text import printable
from adapter.cli import app

CHAT = """\
prod/chat: stays at N 5 because the terms justify no more than 2.06, but nothing may go \
(guard when vram > 95%: holds since 585 s)

value      5              metric chat-replicas, published as replicas
demand     U 2.0585  D 5  U at least needed, D at most justified
replicas   N 5            5 ready
evaluated  08:00:00Z      0s ago, oldest sample 19s old

terms
  batch    concurrency  U 2.0585   D 2.0585   load ÷ 10 = 20.585 ÷ 10 = 2.0585
  compute  utilization  U 1.91429  D 1.91429  gpu ÷ 0.7 = 1.34 ÷ 0.7 = 1.91429

inputs
  load   20.585    5 pods  4.117 – 4.117        19s old
  gpu    1.34      5 pods  0.268 – 0.268        19s old
  vram   4.85      5 pods  0.97 – 0.97          19s old
  cache  62.5 GiB  5 pods  12.5 GiB – 12.5 GiB  19s old

guards
  holds  guard when vram > 95%: holds since 585 s
"""


async def run(*arguments: str) -> Result:
    """The command in a thread of its own, as the endpoint runs on this event loop."""
    return await asyncio.to_thread(CliRunner().invoke, app, ["explain", *arguments])


async def test_the_sentence_comes_first_and_what_it_stands_on_after_it(url: str) -> None:
    ended = await run("prod/chat", "--url", url)
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.stdout.startswith(CHAT)
    assert (
        "\n  07:25:15  8 → no value   upstream-error: load: prometheus:9090 answered with status 503\n" in ended.stdout
    )
    assert ended.stdout.endswith("\n  07:00:15  first seen: 3  N 3, within [3, 3]\n")


async def test_a_metric_and_the_address_of_the_metrics_do_as_well(url: str) -> None:
    ended = await run("prod/chat-replicas", "--url", f"{url}/metrics")
    assert ended.stdout.startswith("prod/chat: stays at N 5")


async def test_a_fleet_is_a_line_each_and_a_selector_shows_one(url: str) -> None:
    ended = await run("prod/fleet", "--url", url)
    lines = ended.stdout.splitlines()
    assert ended.exit_code == 1  # m29 has no value
    assert lines[3] == "prod/fleet {model=m03}: asks for 4, with N unknown, because term batch asks for 3.29"
    assert lines[29] == "prod/fleet {model=m29}: no value (empty), so nothing is scaled down: load: no series matches"
    assert lines[31] == (
        "30 signals; --selector shows one in full, e.g. scaleproof explain prod/fleet --selector model=m00"
    )
    one = await run("prod/fleet", "--url", url, "--selector", "model=m03")
    assert one.exit_code == 0
    assert "value      3.29 " in one.stdout


async def test_json_is_what_the_adapter_says(url: str) -> None:
    ended = await run("prod/refused", "--url", url, "--output", "json")
    document = json.loads(ended.stdout)
    assert ended.exit_code == 1
    assert (document["kind"], document["signals"][0]["reason"]) == ("Explanation", "upstream-rejected")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["prod/chatt"], "no policy and no metric is called prod/chatt; did you mean prod/chat?"),
        (["other/x"], "no policy and no metric is called other/x; there are prod/chat, prod/fleet, prod/refused"),
        (
            ["prod/fleet", "--selector", "model=zz"],
            "no group of prod/fleet matches model=zz; there are model=m00, model=m01, model=m02, model=m03, model=m04,"
            " model=m05, model=m06, model=m07 and 22 more",
        ),
        (["prod/fleet", "--selector", "="], "found '=', expected: !, identifier"),
    ],
)
async def test_a_name_that_is_not_there_is_told_with_what_is(url: str, arguments: list[str], words: str) -> None:
    ended = await run(*arguments, "--url", url)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert words in ended.stderr


async def test_where_no_adapter_answers_the_way_to_one_is_told() -> None:
    ended = await run("prod/chat", "--url", f"http://127.0.0.1:{free_port()}")
    assert ended.exit_code == 3
    assert "Connection refused" in ended.stderr
    assert "kubectl -n scaleproof-system port-forward deployment/scaleproof 8080" in ended.stderr
    assert (await run("prod/chat", "--url", "127.0.0.1:8080")).exit_code == 3


async def test_without_a_kubeconfig_both_ways_are_told(tmp_path: Path) -> None:
    ended = await run("prod/chat", "--kubeconfig", str(tmp_path / "none"))
    assert ended.exit_code == 3
    assert ended.stderr == (
        f"no kubeconfig at {tmp_path / 'none'}; give --kubeconfig FILE, or port-forward and give --url\n"
    )


@pytest.mark.parametrize("arguments", [["chat"], ["prod/chat/x"], ["/chat"], ["a/b", "--url", "x", "--context", "y"]])
async def test_bad_usage_is_status_2(arguments: list[str]) -> None:
    assert (await run(*arguments)).exit_code == 2


def test_no_message_can_move_the_cursor_of_a_terminal() -> None:
    assert printable("a\x1b[2Jb\r\n\x9bc→") == "a�[2Jb���c→"
