"""A folder as the kubelet mounts a ConfigMap into it, and the swap of its contents, in the kubelet's order.

Source: k8s.io/kubernetes/pkg/volume/util/atomic_writer.go (AtomicWriter.Write).
"""

import shutil
from collections.abc import Mapping
from pathlib import Path


class ConfigMapMount:
    """Files that are links through `..data`, which moves from one generation to the next at once."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.folder = folder
        self._generation = 0
        self.swap(files)

    def swap(self, files: Mapping[str, str]) -> None:
        """Make these the files."""
        self.move_data(files)
        self.tidy(files)

    def move_data(self, files: Mapping[str, str]) -> None:
        """The new generation is in force; the links beside it are still those of the old one."""
        self._generation += 1
        data = self.folder / f"..generation-{self._generation}"
        data.mkdir(parents=True)
        for name, text in files.items():
            (data / name).write_text(text)
        moving = self.folder / "..data_tmp"
        moving.symlink_to(data.name)
        moving.rename(self.folder / "..data")

    def tidy(self, files: Mapping[str, str]) -> None:
        """Make the links of new files, remove those of old ones and the generation before."""
        for name in files:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(Path("..data", name))
        for link in self.folder.iterdir():
            if link.is_symlink() and not link.name.startswith(".") and link.name not in files:
                link.unlink()
        for old in self.folder.glob("..generation-*"):
            if old.name != f"..generation-{self._generation}":
                shutil.rmtree(old)
