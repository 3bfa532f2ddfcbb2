"""Label selectors against the real thing.

`label_selectors.jsonl` was written by a Go program that calls `labels.Parse` of k8s.io/apimachinery v0.36.3: 490
selectors, a hundred chosen and the rest drawn, each with its requirements or its error. The rest is worked out by hand
from the documentation of that function.
"""

import json
import time
from pathlib import Path

import pytest

from adapter.core.label_selectors import LabelSelector, Operator, Requirement, SelectorError, parse_label_selector

VECTORS = [json.loads(line) for line in Path(__file__).with_name("label_selectors.jsonl").read_text().splitlines()]
LABELS = {"model": "a", "gpu": "3", "empty": "", "size": "big"}


@pytest.mark.parametrize("vector", [v for v in VECTORS if "error" in v], ids=lambda v: ascii(v["selector"]))
def test_what_apimachinery_refuses_is_refused_with_its_words(vector: dict) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_label_selector(vector["selector"])
    assert str(refused.value) == vector["error"]


@pytest.mark.parametrize("vector", [v for v in VECTORS if "error" not in v], ids=lambda v: ascii(v["selector"]))
def test_what_apimachinery_reads_is_read_alike(vector: dict) -> None:
    found = parse_label_selector(vector["selector"]).requirements
    assert sorted([r.key, r.operator.value, list(r.values)] for r in found) == vector["requirements"]


@pytest.mark.parametrize(
    ("selector", "is_match"),
    [
        ("", True),
        ("model=a", True),
        ("model==a", True),
        ("model=b", False),
        ("model!=a", False),
        ("model!=b", True),
        ("nosuch!=a", True),
        ("model in (a,b)", True),
        ("model in (b,c)", False),
        ("nosuch in (a)", False),
        ("nosuch notin (a)", True),
        ("model notin (a)", False),
        ("model", True),
        ("nosuch", False),
        ("!model", False),
        ("!nosuch", True),
        ("empty", True),
        ("empty=", True),
        ("nosuch=", False),
        ("empty in ()", True),
        ("nosuch in ()", False),
        ("gpu>2", True),
        ("gpu>3", False),
        ("gpu<4", True),
        ("gpu<3", False),
        ("size>1", False),
        ("nosuch>1", False),
        ("model=a,gpu>2,!nosuch", True),
        ("model=a,model!=a", False),
    ],
)
def test_a_selector_matches_as_documented(selector: str, is_match: bool) -> None:
    assert parse_label_selector(selector).matches(LABELS) is is_match


def test_a_number_too_large_for_an_int64_is_no_number_to_compare() -> None:
    assert not parse_label_selector("n>1").matches({"n": "9223372036854775808"})
    assert parse_label_selector("n>1").matches({"n": "9223372036854775807"})


def test_requirements_are_sorted_by_key_and_values_are_sorted_without_doubles() -> None:
    assert parse_label_selector("b in (z,y,z),a").requirements == (
        Requirement("a", Operator.EXISTS),
        Requirement("b", Operator.IN, ("y", "z")),
    )
    assert parse_label_selector(" ") == LabelSelector()


def test_sixty_kilobytes_are_read_in_time_that_grows_with_their_length_only() -> None:
    """No assertion on time: a quadratic reader would need minutes here and meet the time-out of the suite."""
    began = time.monotonic()
    hostile = ["a" * 60_000 + "!x", "a." * 30_000 + "/x", "-" * 60_000, "(" * 60_000, "a in (" + "," * 60_000]
    for selector in hostile:
        with pytest.raises(SelectorError):
            parse_label_selector(selector)
    assert len(parse_label_selector("x in (" + "a," * 30_000 + "b)").requirements) == 1
    assert len(parse_label_selector(",".join(f"k{number}" for number in range(10_000))).requirements) == 10_000
    print(f"read in {time.monotonic() - began:.2f} s")
