"""docs/explain.md shows what the command says, and names the bounds that hold."""

import re
from pathlib import Path

from explained_hour import explained_hour
from policy_world import T

from adapter.account_text import account_lines
from adapter.accounts import MAX_EXPLAINED, MAX_WITH_HISTORY, Wanted
from adapter.core.histories import MAX_CHANGES, MAX_POINTS, MAX_SIGNALS

PAGE = (Path(__file__).parents[2] / "docs/explain.md").read_text()


def test_the_text_shown_is_what_the_command_says() -> None:
    (account,) = explained_hour().accounts(Wanted(policy="chat"))
    said = "\n".join(account_lines(account, T)) + "\n"
    headline, rest = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert said.startswith(f"{headline}\n{rest}")


def test_the_bounds_named_are_those_that_hold() -> None:
    for words in (
        f"up to {MAX_POINTS} points",
        f"the last {MAX_CHANGES} changes",
        f"the first {MAX_SIGNALS:,} signals",
        f"At most {MAX_EXPLAINED} signals",
        f"at most {MAX_WITH_HISTORY} signals",
    ):
        assert words in " ".join(PAGE.split())
