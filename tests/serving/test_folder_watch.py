"""The watch of the policy folder: no fault of ours ends it, and a policy that is gone leaves nothing behind."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from adapter import serving
from adapter.core.policy_reading import LoadedPolicy
from adapter.policy_folder import PolicyFolder
from adapter.serving import Adapter
from adapter.settings import Settings


class Faulty:
    """A folder whose first look ends in a fault nobody foresaw."""

    broken_files = 0

    def __init__(self) -> None:
        self.looks = 0

    def look(self) -> Mapping[tuple[str, str], LoadedPolicy]:
        self.looks += 1
        if self.looks == 1:
            raise RuntimeError("unforeseen")
        if self.looks == 3:
            raise asyncio.CancelledError
        return {}


def test_a_fault_while_looking_does_not_end_the_watch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(serving, "LOOK_SECONDS", 0.0)
    adapter = Adapter(Settings(policies=tmp_path, prometheus="http://127.0.0.1:9"))
    folder = Faulty()
    adapter.folder = cast(PolicyFolder, folder)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(adapter.watch_folder())
    adapter.sources.close()
    assert folder.looks == 3
    assert adapter.has_read_policies
    assert b"scaleproof_policy_reload_errors_total 1.0" in adapter.telemetry.exposition()
