"""Policies read from objects: as from files, with field paths for lines."""

from typing import Any

import pytest
import yaml
from policy_world import LIBRARY
from scaling_policy import policy_object

from adapter.core.documents import MAX_DEPTH
from adapter.core.object_documents import field_path, object_name, policy_of, read_object, words_of
from adapter.core.policy_reading import LoadedPolicy, collisions


def item(*changes: tuple[str, str], **metadata: Any) -> dict[str, Any]:
    text = policy_object("p")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    found: dict[str, Any] = yaml.safe_load(text)
    found["metadata"].update(metadata)
    return found


def read(one: dict[str, Any]) -> tuple[LoadedPolicy | None, str]:
    loaded, problems = read_object(policy_of(one), object_name("prod", "p"), LIBRARY)
    return loaded, words_of(problems)


def test_an_object_is_the_policy_that_its_text_would_be_in_a_file() -> None:
    loaded, words = read(item())
    assert loaded is not None
    assert (loaded.policy.key, loaded.policy.spec.every) == (("prod", "p"), 1.0)
    assert [line.partition(":")[0] for line in words.splitlines()] == ["spec.offset", "spec"]  # two warnings
    assert loaded.document.file == "ScalingPolicy prod/p"


def test_what_only_the_api_server_writes_is_no_part_of_the_policy() -> None:
    written = item(uid="u", resourceVersion="5", managedFields=[{}], labels={"a": "b"}, generation=3)
    written["status"] = {"value": "7"}
    assert policy_of(written) == policy_of(item())


def test_annotations_of_the_language_are_read_and_others_are_not() -> None:
    notes = {"scaleproof.dev/ignore": "offset-low: measured", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    metadata = policy_of(item(annotations=notes))["metadata"]
    assert metadata == {
        "name": "p",
        "namespace": "prod",
        "annotations": {"scaleproof.dev/ignore": "offset-low: measured"},
    }


REFUSED = {
    "unknown-key": (
        ("unit: count", "unit: count, max_aeg: 5s"),
        'spec.inputs.queue.max_aeg: unknown key "max_aeg" in spec.inputs.queue [unknown-key]; did you mean max_age?',
    ),
    "unknown-key-of-the-root": (
        ("kind:", "extra: 1\nkind:"),
        'extra: unknown key "extra" in the document [unknown-key]; remove it; allowed here: '
        "apiVersion, kind, metadata, spec",
    ),
    "missing-key": (
        (", per_replica: 10", ""),
        "spec.terms.batch: per_replica is required in spec.terms.batch [required-key]; "
        "write how many requests in flight one replica should hold",
    ),
    "range": (
        ("every: 1s", "every: 2h"),
        "spec.every: 2h is out of range, a duration from 1s to 1h is allowed [value-range]; "
        "write a duration from 1s to 1h",
    ),
    "reference": (
        ("concurrency: queue", "concurrency: quue"),
        'spec.terms.batch.concurrency: no input is called "quue" [unknown-input]; did you mean queue?',
    ),
    "in-a-list": (
        ("  publish:", "  guards: [{hold_scale_down: {after: xid, until: 5m}}]\n  publish:"),
        'spec.guards[0].hold_scale_down.until: unknown key "until" in spec.guards.0.hold_scale_down [unknown-key]; '
        "remove it; allowed here: after, alert, for, max, when",
    ),
}


@pytest.mark.parametrize(("change", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_problem_is_told_with_the_path_of_its_field(change: tuple[str, str], words: str) -> None:
    assert read(item(change)) == (None, words)


def test_an_object_that_is_nested_too_deep_is_refused_unread() -> None:
    value: dict[str, Any] = {}
    for _ in range(MAX_DEPTH + 1):
        value = {"a": value}
    one = item()
    one["spec"]["deep"] = value
    loaded, words = read(one)
    assert loaded is None
    assert words.endswith("nested deeper than 64 [object-too-large]; split it")


def test_many_problems_are_told_as_ten_and_a_number() -> None:
    one = item()
    one["spec"].update({f"x{number}": 1 for number in range(14)})
    lines = read(one)[1].splitlines()
    assert (len(lines), lines[-1]) == (11, "4 more")


def test_a_collision_names_the_object_without_a_line_that_it_does_not_have() -> None:
    first, second = (read(item(("name: p", f"name: {name}")))[0] for name in ("a", "b"))
    assert first is not None
    assert second is not None
    (problem,) = collisions([first, second])
    assert problem.message == 'the metric "p" is published twice in prod, first in ScalingPolicy prod/p'


def test_a_path_is_written_as_kubernetes_writes_it() -> None:
    assert field_path(("spec", "guards", 0, "when")) == "spec.guards[0].when"
