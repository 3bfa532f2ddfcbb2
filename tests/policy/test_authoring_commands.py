"""`scaleproof new` and `scaleproof presets`: what they write passes check, and they overwrite nothing."""

import re
from pathlib import Path

import pytest
from click.testing import Result
from policy_world import LIBRARY
from typer.testing import CliRunner

from adapter.cli import app
from adapter.core.policy_reading import read_policies
from adapter.new_policy import Answers, engines, hpa_text, policy_text
from sim.policy_hpa_lints import lint_together

NEW = ("new", "--name", "chat", "--namespace", "prod", "--engine", "vllm")


def run(*arguments: str | Path) -> Result:
    """The command line in this process, without a terminal to ask on."""
    return CliRunner().invoke(app, [str(one) for one in arguments])


def words(ended: Result) -> str:
    """What a command says of bad usage, without the box that is drawn around it."""
    return " ".join(re.sub("[│╭╰─╮╯]", " ", ended.stderr).split())


@pytest.mark.parametrize("engine", engines(LIBRARY))
@pytest.mark.parametrize("scrape", [1.0, 15.0, 30.0, 60.0])
@pytest.mark.parametrize("rate", [None, 4.4], ids=["plain", "measured"])
@pytest.mark.parametrize("model", ["", 'org/a "b"'], ids=["by-pods", "by-model"])
def test_what_is_written_passes_check_without_a_warning(
    engine: str, scrape: float, rate: float | None, model: str
) -> None:
    for kubernetes, has_tolerance in (("1.34", False), ("1.36", True)):
        answers = Answers("on", "prod", "123", engine, model, 10, rate, "2m", scrape, 1, 8, has_tolerance)
        loaded, problems = read_policies(policy_text(answers, LIBRARY), "on.yaml", LIBRARY)
        assert (len(loaded), problems) == (1, [])
        assert lint_together(loaded, hpa_text(answers), "on-hpa.yaml", kubernetes) == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", engines(LIBRARY))
@pytest.mark.parametrize(("scrape", "rate"), [("5s", ()), ("60s", ("--rate-per-replica", "4.4"))], ids=["5s", "60s"])
def test_the_test_that_is_written_passes_and_notices_what_is_made_wrong(
    tmp_path: Path, engine: str, scrape: str, rate: tuple[str, ...]
) -> None:
    flags = ("--engine", engine, "--scrape-interval", scrape, "--min", "2", "--per-replica", "7.5", *rate)
    assert run(*NEW, *flags, "--directory", tmp_path).exit_code == 0
    ended = run("test", tmp_path / "chat.test.yaml", "--mutate")
    assert ended.exit_code == 0, ended.stdout
    assert ended.stdout.endswith("2 tests in 1 files: 2 passed\n")


def test_new_writes_policy_and_hpa_and_never_over_a_file(tmp_path: Path) -> None:
    assert run(*NEW, "--directory", tmp_path, "--max", "6").exit_code == 0
    checked = run("check", tmp_path / "chat.yaml", "--hpa", tmp_path / "chat-hpa.yaml")
    assert (checked.exit_code, checked.stdout) == (0, "1 file, 1 good policy, 0 errors, 0 warnings\n")
    (tmp_path / "chat.yaml").unlink()
    (tmp_path / "chat-hpa.yaml").write_text("mine")
    ended = run(*NEW, "--directory", tmp_path)
    assert ended.exit_code == 2
    assert "exists, nothing is written" in words(ended)
    assert (tmp_path / "chat-hpa.yaml").read_text() == "mine"
    assert not (tmp_path / "chat.yaml").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("new",),
        (*NEW, "--name", "Chat"),
        (*NEW, "--name", "../chat"),
        (*NEW, "--engine", "nosuch"),
        (*NEW, "--deployment", "a}, x: {"),
        (*NEW, "--cold-start", "2"),
        (*NEW, "--min", "5", "--max", "4"),
        (*NEW, "--kubernetes", "new"),
    ],
    ids=["nothing", "capital", "path", "engine", "yaml", "duration", "bounds", "version"],
)
def test_bad_answers_are_bad_usage_and_nothing_is_written(arguments: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "to"
    folder.mkdir()
    assert run(*arguments, "--directory", folder).exit_code == 2
    assert list(tmp_path.rglob("*")) == [folder]


def test_presets_are_listed_with_their_unit() -> None:
    lines = run("presets").stdout.splitlines()
    assert lines == run("presets", "list").stdout.splitlines()
    inputs, replicas = LIBRARY.names()
    assert [line.split()[0] for line in lines] == [*inputs, *replicas]
    assert next(line for line in lines if line.startswith("vllm/kv-cache-usage")).split()[1] == "ratio"


def test_a_preset_is_shown_with_its_renames_and_labels() -> None:
    kv = run("presets", "show", "vllm/kv-cache-usage").stdout
    assert "vllm:kv_cache_usage_perc, else vllm:gpu_cache_usage_perc" in kv
    assert "pod stands in exported_pod" in run("presets", "show", "dcgm/engine-active").stdout
    assert "kube_deployment_spec_replicas" in run("presets", "show", "kube/deployment-replicas").stdout


def test_the_query_of_a_preset_is_what_the_adapter_would_ask() -> None:
    asked = run("presets", "query", "vllm/requests-waiting", "--match", 'model_name=a"b', "--namespace", "prod").stdout
    assert asked == 'vllm:num_requests_waiting{namespace=~"prod|",model_name="a\\"b"}[120s]\n'


@pytest.mark.parametrize(
    "arguments",
    [("show", "vllm/nosuch"), ("query", "vllm/nosuch"), ("query", "vllm/requests-waiting", "--match", "pod")],
    ids=["show", "query", "match"],
)
def test_a_preset_that_does_not_exist_is_bad_usage(arguments: tuple[str, ...]) -> None:
    ended = run("presets", *arguments)
    assert ended.exit_code == 2
    assert "did you mean" in words(ended) or "LABEL=VALUE" in words(ended) or "lists them" in words(ended)
