"""The bench command: its JSON, and the benches by name. How fast it is is told, not asserted."""

import json

from typer.testing import CliRunner

from adapter.cli import app


def test_bench_decisions_gives_rate_cost_memory_and_the_floor_of_the_same_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no oracle here
    result = CliRunner().invoke(app, ["bench", "decisions", "--seconds", "0.05", "--output", "json"])
    figures = json.loads(result.output)
    assert result.exit_code == 0
    assert figures["bench"] == "decisions"
    for one in (figures, figures["account"], figures["floor"]):
        assert one["per_second"] > 0
        assert one["cpu_seconds_per_1000"] > 0
        assert one["rss_mib"] > 0
    assert figures["floor"]["per_second"] > figures["per_second"]
    assert "oracle" not in figures


def test_bench_decisions_is_a_table_for_people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["bench", "decisions", "--seconds", "0.05"])
    assert [line[:25].strip() for line in result.output.splitlines()] == [
        "decisions",
        "decisions",
        "with the account of each",
        "floor: the loop alone",
    ]


def test_an_unknown_bench_is_bad_usage():
    result = CliRunner().invoke(app, ["bench", "nothing"])
    assert result.exit_code == 2
    assert 'there is no bench "nothing"; there are: decisions' in result.output
