"""Lints: each has a page with its reason and an example, the example gives it, and a reason silences it."""

import re
from pathlib import Path

import pytest
from policy_world import LIBRARY

from adapter.core.lint_catalogue import CATALOGUE, LINTS, Group
from adapter.core.policy_reading import read_policies
from adapter.core.problems import Problem, Severity, has_errors
from sim.policy_hpa_lints import lint_together

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs/lints"
WITH_EXAMPLE = [code for code, rule in LINTS.items() if rule.group is not Group.PROMETHEUS]


def page(code: str) -> str:
    return (PAGES / f"{code}.md").read_text()


def example(code: str) -> str:
    (text,) = re.findall(r"## Example\n\n```yaml\n(.*?)^```", page(code), re.MULTILINE | re.DOTALL)
    return str(text)


def problems_of(text: str, kubernetes: str = "1.36") -> list[Problem]:
    loaded, problems = read_policies(text, "p.yaml", LIBRARY)
    if "HorizontalPodAutoscaler" in text:
        problems += lint_together(loaded, text, "p.yaml", kubernetes)
    return problems


def codes_of(text: str, kubernetes: str = "1.36") -> list[str]:
    return [problem.code for problem in problems_of(text, kubernetes)]


def version_of(code: str) -> str:
    named = re.search(r"checked with `--kubernetes (.*?)`", page(code))
    return named.group(1) if named else "1.36"


@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_the_example_of_a_lint_gives_it_at_the_severity_of_the_catalogue(code: str) -> None:
    found = [problem for problem in problems_of(example(code), version_of(code)) if problem.code == code]
    assert found, codes_of(example(code), version_of(code))
    assert {problem.severity for problem in found} == {LINTS[code].severity}
    assert all(problem.fix for problem in found)


# What an example cannot do without showing beside its own code.
TOGETHER = {
    "ignore-invalid": {"unused-input"},
    "hpa-target-unreachable": {"no-unbounded-term"},
    "hpa-zero-gate": {"hpa-zero-pod-inputs"},
    "hpa-zero-pod-inputs": {"hpa-zero-gate"},
}


@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_the_example_of_a_lint_has_nothing_else_wrong_with_it(code: str) -> None:
    others = set(codes_of(example(code), version_of(code))) - {code}
    assert others <= TOGETHER.get(code, set())


@pytest.mark.parametrize("code", LINTS)
def test_each_lint_has_a_page_with_its_title_why_fix_and_how_to_silence_it(code: str) -> None:
    text, rule = page(code), LINTS[code]
    assert text.startswith(f"# {code}\n\n{rule.title}. ")
    assert "\n## Why\n" in text and "\n## Fix\n" in text
    assert ("\n## Silence\n" in text) is rule.can_be_silenced
    assert (f'scaleproof.dev/ignore: "{code}: ' in text) is rule.can_be_silenced


def test_the_index_lists_every_code_once_and_there_is_no_page_without_a_code() -> None:
    index = (PAGES / "README.md").read_text()
    for code, rule in LINTS.items():
        assert index.count(f"| [{code}]({code}.md) | {rule.severity} | {rule.title} |") == 1
    for code, rule in CATALOGUE.items():
        assert rule.group is not Group.DOCUMENT or f"| [{code}](../errors.md#{code}) | {rule.title} |" in index
    assert {path.stem for path in PAGES.glob("*.md")} == {*LINTS, "README"}


def test_every_error_has_its_section_with_title_why_and_fix_and_no_section_is_of_nothing() -> None:
    text = (ROOT / "docs/errors.md").read_text()
    sections = re.findall(r"^## (.*)\n\n((?:.+\n)+)\nFix: (?:.+\n)+", text, re.MULTILINE)
    errors = {code: rule for code, rule in CATALOGUE.items() if rule.group is Group.DOCUMENT}
    assert [code for code, _ in sections] == sorted(errors)
    for code, why in sections:
        assert " ".join(why.split()).startswith(f"{errors[code].title}. ")
        assert len(why) > len(errors[code].title) + 20


@pytest.mark.parametrize("code", CATALOGUE)
def test_the_page_that_outputs_name_exists(code: str) -> None:
    name, _, anchor = CATALOGUE[code].page.partition("#")
    text = (ROOT / name).read_text()
    assert f"\n## {anchor}\n" in text if anchor else text.startswith(f"# {code}\n")


SOURCES = [
    *ROOT.glob("adapter/core/*lint*.py"),
    *(ROOT / "adapter/core" / f"{name}.py" for name in ("documents", "policy_reading", "policy_checks", "rule_checks")),
    *(ROOT / "adapter/core" / f"{name}.py" for name in ("silencing", "term_planning", "policy_terms", "policy_inputs")),
    ROOT / "adapter/core/policy.py",
    ROOT / "adapter/core/policy_stability.py",
    ROOT / "adapter/series_questions.py",
    ROOT / "adapter/policy_folder.py",
    ROOT / "sim/policy_hpa_lints.py",
]


def test_every_code_that_is_reported_stands_in_the_catalogue() -> None:
    written = re.compile(
        r'(?:refuse|report|Found|yield|Problem|TermError|add)\((?:[^"()]|\([^()]*\))*"([a-z]+(?:-[a-z]+)*)"'
    )
    found = {code for path in SOURCES for code in written.findall(path.read_text())}
    assert len(found) > 60
    assert found - set(CATALOGUE) == set()


def silenced_by(annotation: str, code: str = "unused-input") -> str:
    head = f'metadata:\n  name: chat\n  namespace: prod\n  annotations: {{scaleproof.dev/ignore: "{annotation}"}}\n'
    return example(code).replace("metadata: {name: chat, namespace: prod}\n", head, 1)


def test_a_lint_is_silenced_by_its_code_and_a_reason() -> None:
    assert codes_of(silenced_by("unused-input: shown in the account, nothing more")) == []


def test_several_lints_are_silenced_at_once() -> None:
    text = silenced_by("unused-input: shown, no more, replicas-missing: one number of a gateway").replace(
        "  replicas: {preset: kube/deployment-replicas, match: {deployment: chat}}\n", ""
    )
    assert codes_of(text) == []


@pytest.mark.parametrize(
    "annotation",
    [
        "unused-input",
        "unused-input:",
        "unused-input: ",
        "nosuch-lint: because",
        "value-range: because",
        "ignore-unused: x",
    ],
)
def test_silencing_without_a_reason_or_a_lint_does_not_count_and_is_a_lint(annotation: str) -> None:
    assert sorted(codes_of(silenced_by(annotation))) == ["ignore-invalid", "unused-input"]


def test_a_silenced_lint_that_does_not_occur_is_a_lint_itself() -> None:
    text = silenced_by("unused-input: shown, hold-long: a batch job")
    (problem,) = problems_of(text)
    assert (problem.code, problem.severity) == ("ignore-unused", Severity.WARNING)
    assert "hold-long does not occur" in problem.message
    assert problem.position.line == 6


def test_an_error_cannot_be_silenced() -> None:
    text = silenced_by("hpa-target-type: because", "hpa-target-type")
    assert sorted(codes_of(text)) == ["hpa-target-type", "ignore-invalid"]


def test_a_lint_of_the_hpa_is_silenced_in_the_policy_and_counts_as_unused_only_where_an_hpa_was_looked_at() -> None:
    assert codes_of(silenced_by("hpa-max-above-ceiling: a trial", "hpa-max-above-ceiling")) == []
    text = silenced_by("hpa-up-window: cost counts more", "hpa-max-above-ceiling")
    assert sorted(codes_of(text)) == ["hpa-max-above-ceiling", "ignore-unused"]
    alone = text.partition("---\n")[0]
    assert codes_of(alone) == []


def test_a_good_pair_of_policy_and_hpa_has_no_problem() -> None:
    good = example("hpa-tolerance-dropped")
    assert codes_of(good, "1.36") == []
    assert codes_of(good, "v1.35.2") == []
    assert set(codes_of(good, "1.34")) == {"hpa-tolerance-dropped"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("name: chat-replicas}", "name: chat-replikas}"), "did you mean chat-replicas?"),
        (
            ("name: chat, namespace: prod}\nspec:\n  scale", "name: chat, namespace: test}\nspec:\n  scale"),
            "published in prod",
        ),
        (("name: chat-replicas}", "name: zzz}"), "published there: chat-replicas"),
    ],
    ids=["misspelt", "other-namespace", "unknown"],
)
def test_a_metric_that_nobody_publishes_comes_with_what_is_nearest(change: tuple[str, str], words: str) -> None:
    policy, _, hpa = example("hpa-tolerance-dropped").partition("---\n")
    assert change[0] in hpa
    (problem,) = [one for one in problems_of(policy + "---\n" + hpa.replace(*change)) if one.code.startswith("hpa")]
    assert problem.code == "hpa-metric-unknown"
    assert words in problem.fix


def test_the_hpa_may_ask_in_another_case() -> None:
    policy, _, hpa = example("hpa-tolerance-dropped").partition("---\n")
    assert codes_of(policy + "---\n" + hpa.replace("name: chat-replicas}", "name: Chat-Replicas}")) == []


def test_zero_replicas_need_no_gate_from_the_version_that_has_it_on() -> None:
    assert codes_of(example("hpa-zero-gate"), "1.37") == ["hpa-zero-pod-inputs"]


def test_what_is_wrong_with_an_hpa_by_itself_is_told_too() -> None:
    policy, _, hpa = example("hpa-tolerance-dropped").partition("---\n")
    problems = problems_of(policy + "---\n" + hpa.replace("maxReplicas: 8", "maxReplicas: 0"))
    assert has_errors(problems)
