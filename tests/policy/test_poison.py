"""Poison: files made to cost time, memory or the process. Each is refused or read within 2 CPU-seconds, in one process.

The child sets a timer of CPU time, whose signal nothing catches, before each file: what takes longer ends the process
and with it the test. CPU time, so that a busy machine does not fail it.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from adapter_process import SCALEPROOF

HEAD = "apiVersion: scaleproof.dev/v1alpha1\nkind: ScalingPolicy\nmetadata: {name: q, namespace: prod}\nspec:\n"


def policy(query: str = "queue", term: str = "{concurrency: q, per_replica: 10}", more: str = "") -> str:
    inputs = f"  inputs: {{q: {{query: '{query}', unit: count}}}}\n"
    return f"{HEAD}{inputs}  terms: {{t: {term}}}\n{more}  publish: {{metric: q}}\n"


def expression(text: str) -> str:
    return policy(term=f'{{expression: "{text}"}}')


def matching(value: str) -> str:
    return policy().replace(
        "query: 'queue', unit: count", f'preset: vllm/requests-in-flight, match: {{pod: "{value}"}}'
    )


ALIASES = "a0: &a0 [x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 8)}]" for i in range(20)
)

# name: (text, the code that refuses it, or None where it is harmless)
POISON: dict[str, tuple[str, str | None]] = {
    "cel-sum": (expression("1+" * 20_000 + "q"), "expression"),
    "cel-longest-sum": (expression("1+" * 490 + "q"), None),
    "cel-macros": (expression("[1].all(x, [2].all(y, [3].all(z, true)))"), "expression"),
    "cel-brackets": (expression("(" * 500), "expression"),
    "cel-signs": (expression("-" * 900 + "q"), None),
    "cel-choices": (expression("q>1?1:" * 150 + "1"), "expression"),
    "aliases": (ALIASES, "yaml-too-large"),
    "alias-of-itself": ("a: &a [*a]\n", "yaml-too-large"),
    "deep-flow": ("[" * 100_000, "yaml-syntax"),
    "deep-block": ("\n".join(" " * depth + "a:" for depth in range(1300)), "yaml-syntax"),
    "large": ("a: " + "x" * 20_000_000, "yaml-too-large"),
    "many-keys": (HEAD + "\n".join(f"  k{i}: 1" for i in range(49_000)), "too-many-problems"),
    "many-doubles": ("a: 1\n" * 49_000, "duplicate-key"),
    "many-documents": ("---\na: 1\n" * 100_000, "yaml-too-large"),
    "long-number": (HEAD + "  every: " + "9" * 900_000 + "\n", "value-invalid"),
    "long-duration": (HEAD + "  every: '" + "1" * 400_000 + "x'\n", "value-invalid"),
    "long-name": (HEAD + "  publish: {metric: " + "m" * 900_000 + "}\n", "name-invalid"),
    "promql-signs": (policy("-" * 3900 + "x"), "promql"),
    "promql-powers": (policy("x^" * 1900 + "x"), "promql"),
    "promql-brackets": (policy("(" * 101 + "x" + ")" * 101), "promql"),
    "promql-huge-regex": (policy('x{a=~"((b{1000}){1000}){1000}"}'), "promql"),
    "match-huge-regex": (matching("~((b{1000}){1000}){1000}"), "regex"),
    "match-broken-regex": (matching("~(("), "regex"),
    "match-look-ahead": (matching("~(?!a)b"), "regex"),
    "match-nested-repetition": (matching("~(a+)+$"), None),  # RE2 has no catastrophic one
    "path-as-zone": (
        policy(more="").replace(
            "{metric: q}", "{metric: q, schedule: [{cron: '* * * * *', zone: ../../etc/passwd, for: 1h, floor: 1}]}"
        ),
        "zone",
    ),
    "terminal-codes": ("a: \x1b[2J", "yaml-syntax"),
    "long-silence": (
        policy().replace("prod}", "prod, annotations: {scaleproof.dev/ignore: '" + "a-" * 200_000 + "'}}"),
        None,
    ),
}

CHILD = """
import json, signal, sys
from adapter.bundled import load_presets
from adapter.core.policy_reading import read_policies
library = load_presets()
found = {}
for name, text in json.load(sys.stdin).items():
    sys.stderr.write(name + "\\n"); sys.stderr.flush()
    signal.setitimer(signal.ITIMER_PROF, 2.0)
    loaded, problems = read_policies(text, name, library)
    signal.setitimer(signal.ITIMER_PROF, 0)
    codes = sorted({one.code for one in problems if one.severity == "error"})
    longest = max((len(one.message) for one in problems), default=0)
    found[name] = [len(loaded), codes, len(problems), longest]
good = sys.argv[1]
found["neighbour"] = [len(read_policies(good, "good", library)[0]), [], 0, 0]
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def judged() -> dict[str, list[object]]:
    texts = json.dumps({name: text for name, (text, _) in POISON.items()})
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, policy()], input=texts, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, f"ended by {ended.returncode} in {ended.stderr.splitlines()[-3:]}"
    return dict(json.loads(ended.stdout))


@pytest.mark.parametrize("name", POISON)
def test_poison_is_refused_by_its_code_or_harmless(judged: dict[str, list[object]], name: str) -> None:
    loaded, codes, count, longest = judged[name]
    code = POISON[name][1]
    if code is None:
        assert (loaded, codes) == (1, [])
    else:
        assert loaded == 0
        assert isinstance(codes, list) and code in codes
    assert isinstance(count, int) and count <= 10_001
    assert isinstance(longest, int) and longest <= 2000


def test_the_process_lives_and_reads_what_comes_after(judged: dict[str, list[object]]) -> None:
    assert judged["neighbour"][0] == 1


def test_a_file_of_20_mb_is_refused_by_the_command_beside_a_good_one(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_text("a: " + "x" * 20_000_000)
    (tmp_path / "good.yaml").write_text(policy())
    ended = subprocess.run([SCALEPROOF, "check", tmp_path], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "at most 1000000 are read" in ended.stdout
    assert "1 good policy" in ended.stdout
