"""The policy folder: what is in force after every kind of change, and what is told about it."""

from pathlib import Path

import pytest
from config_map_mount import ConfigMapMount
from grid_policies import policy_text
from policy_world import LIBRARY

from adapter import policy_folder
from adapter.core.problems import Problem
from adapter.policy_files import PolicyFolderError, Signature, policy_files, read_at
from adapter.policy_folder import PolicyFolder

BROKEN = "unit: pounds"


def broken(text: str) -> str:
    return text.replace("unit: count", BROKEN)


def changed(text: str) -> str:
    return text.replace("per_replica: 10", "per_replica: 20")


class Watched:
    """A folder in the form of a ConfigMap, the policies in force by name and file, and what was reported."""

    def __init__(self, folder: Path, **files: str) -> None:
        self.mount = ConfigMapMount(folder, self._named(files))
        self.reports: list[Problem] = []
        self.folder = PolicyFolder(folder, LIBRARY, lambda _file, problems: self.reports.extend(problems))
        self.look()

    def _named(self, files: dict[str, str]) -> dict[str, str]:
        return {f"{name}.yaml": text for name, text in files.items()}

    def swap(self, **files: str) -> dict[str, str]:
        self.mount.swap(self._named(files))
        return self.look()

    def look(self) -> dict[str, str]:
        self.in_force = self.folder.look()
        return {name: Path(one.document.file).stem for (_, name), one in self.in_force.items()}

    def limit(self, name: str) -> float:
        term = self.in_force["prod", name].policy.spec.terms["q"]
        return float(term.per_replica.up)  # type: ignore[union-attr]

    def codes(self) -> list[str]:
        return [f"{Path(one.file).name}:{one.position.line} {one.code}" for one in self.reports]


def test_a_broken_file_keeps_its_last_good_policies_and_the_others_apply(tmp_path: Path) -> None:
    watched = Watched(tmp_path, a=policy_text("a"), b=policy_text("b"))
    assert watched.swap(a=broken(changed(policy_text("a"))), b=changed(policy_text("b"))) == {"a": "a", "b": "b"}
    assert (watched.limit("a"), watched.limit("b")) == (10, 20)
    assert watched.codes() == ["a.yaml:9 value-invalid"]
    assert watched.folder.broken_files == 1


def test_the_same_broken_text_is_reported_once_and_another_anew(tmp_path: Path) -> None:
    watched = Watched(tmp_path, a=policy_text("a"))
    watched.swap(a=broken(policy_text("a")))
    watched.swap(a=broken(policy_text("a")), b=policy_text("b"))
    assert len(watched.reports) == 1
    watched.swap(a=broken(policy_text("a")) + "# still\n", b=policy_text("b"))
    assert len(watched.reports) == 2
    assert watched.swap(a=policy_text("a")) == {"a": "a"}
    assert watched.folder.broken_files == 0


def test_a_file_that_is_broken_from_the_start_has_nothing_to_keep(tmp_path: Path) -> None:
    watched = Watched(tmp_path, a=broken(policy_text("a")), b=policy_text("b"))
    assert watched.look() == {"b": "b"}


def test_a_deleted_file_withdraws_its_policies_also_if_it_was_broken(tmp_path: Path) -> None:
    watched = Watched(tmp_path, a=policy_text("a"), b=policy_text("b"), c=policy_text("c"))
    watched.swap(a=policy_text("a"), b=broken(policy_text("b")), c=policy_text("c"))
    assert watched.swap(c=policy_text("c")) == {"c": "c"}
    assert watched.swap(a=changed(policy_text("a")), c=policy_text("c")) == {"c": "c", "a": "a"}
    assert watched.limit("a") == 20


def test_what_is_renamed_or_moved_keeps_its_plan_and_what_changed_has_a_new_one(tmp_path: Path) -> None:
    both = f"{policy_text('a')}---\n{policy_text('b')}"
    watched = Watched(tmp_path, one=both)
    a, b = (watched.in_force["prod", name].plan for name in "ab")
    assert watched.swap(two=both) == {"a": "two", "b": "two"}
    assert watched.swap(two=f"# a comment\n{both.replace('per_replica: 10', 'per_replica: 20', 1)}")
    assert watched.in_force["prod", "a"].plan is not a
    assert watched.in_force["prod", "b"].plan is b
    assert watched.reports == []


def test_a_policy_that_moves_between_files_in_one_swap_is_never_absent_nor_doubled(tmp_path: Path) -> None:
    a, b = policy_text("a"), policy_text("b")
    watched = Watched(tmp_path, one=f"{a}---\n{b}")
    # `..data` has moved, the link of the new file is not there yet: this is where a listing of links would lose `b`.
    watched.mount.move_data({"one.yaml": a, "two.yaml": b})
    assert watched.look() == {"a": "one", "b": "two"}
    watched.mount.tidy({"one.yaml": a, "two.yaml": b})
    assert watched.look() == {"a": "one", "b": "two"}
    assert watched.reports == []


def test_a_policy_that_moves_out_of_a_file_as_that_breaks_is_the_moved_one(tmp_path: Path) -> None:
    a, x = policy_text("a"), policy_text("x")
    watched = Watched(tmp_path, one=f"{a}---\n{x}")
    assert watched.swap(one=broken(a), two=changed(x)) == {"a": "one", "x": "two"}
    assert watched.limit("x") == 20
    assert watched.codes() == ["one.yaml:9 value-invalid"]  # and no collision of the two
    assert watched.swap(one=broken(a)) == {"a": "one"}  # it left the broken file for good


@pytest.mark.parametrize("damage", [BROKEN, "unit: [count"], ids=["refused", "no-yaml"])
def test_a_policy_that_moves_into_a_file_that_is_broken_by_it_stays_as_it_was(tmp_path: Path, damage: str) -> None:
    a, x = policy_text("a"), policy_text("x")
    watched = Watched(tmp_path, one=f"{a}---\n{x}")
    assert watched.swap(one=a, two=changed(x).replace("unit: count", damage))["x"] == "one"
    assert watched.limit("x") == 10
    assert watched.swap(one=a, two=changed(x)) == {"a": "one", "x": "two"}
    assert watched.limit("x") == 20
    assert watched.swap(one=a) == {"a": "one"}


def test_of_two_that_collide_the_first_by_file_name_holds_and_the_problem_names_both_files(tmp_path: Path) -> None:
    other = policy_text("b").replace("metric: b", "metric: A")
    watched = Watched(tmp_path, one=policy_text("a"))
    assert watched.swap(one=policy_text("a"), three=changed(policy_text("a")), two=other) == {"a": "one"}
    assert watched.limit("a") == 10
    assert watched.codes() == ["three.yaml:3 duplicate-policy", "two.yaml:11 duplicate-metric"]
    assert [f"{tmp_path}/one.yaml:" in one.message for one in watched.reports] == [True, True]
    watched.look()
    assert len(watched.reports) == 2
    assert watched.swap(two=other) == {"b": "two"}


def test_a_swap_while_the_files_are_read_gives_the_new_generation_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(tmp_path, a=policy_text("a"), b=policy_text("b"))
    watched.mount.swap({"a.yaml": changed(policy_text("a")), "b.yaml": policy_text("b")})
    swaps = iter([{"a.yaml": policy_text("a"), "c.yaml": policy_text("b")}])

    def read(place: str) -> tuple[str, Signature]:
        text = read_at(place)
        for files in swaps:
            watched.mount.swap(files)  # after the first file of the generation before, which is removed
        return text

    monkeypatch.setattr(policy_folder, "read_at", read)
    assert watched.look() == {"a": "a", "b": "c"}
    assert watched.limit("a") == 10
    assert watched.reports == []


def test_a_change_that_leaves_size_and_times_as_they_were_is_seen_while_the_file_is_young(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(policy_text("a"))
    folder = PolicyFolder(tmp_path, LIBRARY, lambda *_: None)
    folder.look()
    seen = policy_folder.list_files(tmp_path)
    monkeypatch.setattr(policy_folder, "list_files", lambda _path: seen)  # a clock too coarse to tell the two apart
    monkeypatch.setattr(policy_folder, "read_at", lambda place: (read_at(place)[0], seen[0].signature))
    file.write_text(changed(policy_text("a")))
    (term,) = folder.look()["prod", "a"].policy.spec.terms.values()
    assert term.per_replica.up == 20  # type: ignore[union-attr]


def test_a_folder_that_is_gone_is_an_error_and_forgets_nothing(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "policies", a=policy_text("a"), b=policy_text("b"))
    (tmp_path / "policies").rename(tmp_path / "away")
    with pytest.raises(PolicyFolderError, match="does not exist"):
        watched.look()
    (tmp_path / "away").rename(tmp_path / "policies")
    assert watched.look() == {"a": "a", "b": "b"}


def test_a_tree_behind_a_link_hidden_files_and_tests_of_policies(tmp_path: Path) -> None:
    for revision in ("r1", "r2"):
        (tmp_path / revision / "team/deep").mkdir(parents=True)
        for name in ("b.yaml", ".hidden.yaml", "b.test.yaml", "notes.txt", "team/a.yml", "team/deep/c.yaml"):
            (tmp_path / revision / name).write_text("")
    (tmp_path / "r2/b.yaml").unlink()
    link = tmp_path / "current"
    link.symlink_to("r1")
    assert policy_files(link) == [link / "b.yaml", link / "team/a.yml", link / "team/deep/c.yaml"]
    link.unlink()
    link.symlink_to("r2")
    assert policy_files(link) == [link / "team/a.yml", link / "team/deep/c.yaml"]
    assert policy_files(link / "team/a.yml") == [link / "team/a.yml"]
