"""A Pod's container as a process of this machine, as near to a kubelet's as one gets without a container engine.

As root it has a mount namespace of its own: the volumes stand where the manifest mounts them, the ServiceAccount's
token where every Pod has it, the root is read-only, and it runs with the manifest's user, groups, variables and no
capability. Its arguments are the manifest's but for what a Pod's network would give: ports, and that of Prometheus. A
user that is not root cannot have that; then the paths among the arguments are replaced, and a kubeconfig stands for
the token's place.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from child_process import ChildProcess

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
IMAGE_VARIABLES = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "HOME": "/"}
"""What the Containerfile sets; PATH aside, which is the test's."""

Files = Mapping[str, str]


def write_volume(folder: Path, files: Files, group: int, mode: int = 0o440) -> None:
    """Write a volume in the kubelet's way: a folder with a time in its name, and links that lead to it."""
    data = folder / "..2026_01_01_00_00_00.1"
    data.mkdir(parents=True)
    (folder / "..data").symlink_to(data.name)
    for name, text in files.items():
        (data / name).write_text(text)
        (data / name).chmod(mode)
        (folder / name).symlink_to(f"..data/{name}")
        if os.geteuid() == 0:
            os.chown(data / name, 0, group)


class PodProcess:
    """One container of a Pod's specification; `folder` must be one that every user may enter."""

    def __init__(self, specification: Mapping[str, Any], folder: Path, program: Path) -> None:
        (self.container,) = specification["containers"]
        self.specification = specification
        self.folder = folder
        self.program = program
        self.is_isolated = os.geteuid() == 0
        self._mounts: dict[str, Path] = {}

    def add_volume(self, name: str, files: Files) -> None:
        """Fill a volume of the specification; it is seen where the container mounts it."""
        (mount,) = [each for each in self.container["volumeMounts"] if each["name"] == name]
        self._add(mount["mountPath"], files)

    def add_service_account(self, token: str, authority: str, namespace: str) -> None:
        """Put what the API server is reached with where each Pod finds it."""
        self._add(SERVICE_ACCOUNT, {"token": token, "ca.crt": authority, "namespace": namespace})

    def _add(self, path: str, files: Files) -> None:
        place = self.folder / "volumes" / path.strip("/").replace("/", "-")
        write_volume(place, files, self.specification["securityContext"]["fsGroup"])
        self._mounts[path] = place

    def start(
        self, replaced: Mapping[str, str], variables: Mapping[str, str], hosts: str, kubeconfig: Path
    ) -> ChildProcess:
        """Start with some arguments replaced; `hosts` are lines that the Pod's resolver knows."""
        given = self.container["args"]
        if not set(replaced) <= set(given):
            raise AssertionError(f"{sorted(set(replaced) - set(given))} are no arguments of the manifest: {given}")
        arguments = [replaced.get(each, each) for each in given]
        log = self.folder / "container.log"
        if not self.is_isolated:
            arguments = [self._here(each) for each in arguments] + [f"--kubeconfig={kubeconfig}"]
            return ChildProcess([self.program, *arguments], log)
        environment = {"PATH": os.environ["PATH"], **IMAGE_VARIABLES, **variables}
        script = self.folder / "start.sh"
        script.write_text(self._script(arguments, environment, hosts))
        return ChildProcess(["unshare", "--mount", "bash", script], log)

    def _here(self, argument: str) -> str:
        """An argument with a mount's path replaced by where the volume really lies."""
        for path, place in self._mounts.items():
            if argument == path or argument.startswith(f"{path}/"):
                return f"{place}{argument[len(path) :]}"
        return argument

    def _script(self, arguments: list[str], environment: Mapping[str, str], hosts: str) -> str:
        """Mounts, then the program as the Pod's user."""
        etc, run = self.folder / "etc", self.folder / "run"
        shutil.copytree("/etc", etc, symlinks=True, ignore=shutil.ignore_patterns("shadow*", "gshadow*", "ssl.key"))
        with (etc / "hosts").open("a") as file:
            file.write(f"\n{hosts}\n")
        run.mkdir(mode=0o755)
        where = {"/etc": etc, "/var/run": run}
        lines = ["set -e", "mount --make-rprivate /"]
        for path, place in self._mounts.items():
            top = next(each for each in where if path.startswith(f"{each}/"))
            (where[top] / path[len(top) + 1 :]).mkdir(parents=True)
            lines.append(f"mount --bind {place} {where[top]}{path[len(top) :]}")
        lines += [f"mount --rbind {etc} /etc", f"mount --rbind {run} $(realpath /var/run)"]
        lines += self._reachable()
        lines += ["mount -o remount,bind,ro /", "cd /"]
        lines.append(" ".join([*self._as_user(), "env", "-i"]) + " \\")
        lines += [f"  {shlex.quote(f'{name}={value}')} \\" for name, value in environment.items()]
        lines.append("  " + " ".join(map(shlex.quote, [str(self.program), *arguments])))
        return "\n".join(lines) + "\n"

    def _reachable(self) -> list[str]:
        """An empty /tmp in memory, and the program's folders where they are, though that or their owner hides them."""
        needed = {Path(sys.prefix), Path(sys.base_prefix)}
        closed = {each for path in needed for each in path.parents if not each.stat().st_mode & 0o001}
        covers = {Path("/tmp"), *closed}
        hidden = sorted(path for path in needed if covers & set(path.parents))
        lines = [f"exec {number}<{path}" for number, path in enumerate(hidden, 20)]
        lines += [f"mount -t tmpfs -o mode=0755 tmpfs {each}" for each in sorted(closed)]
        lines.append("mount -t tmpfs -o mode=1777,size=16m tmpfs /tmp")
        for number, path in enumerate(hidden, 20):
            lines += [f"mkdir -p {path}", f"mount -c --rbind /proc/self/fd/{number} {path}"]
        lines += [f"mount -o remount,ro {each}" for each in sorted(closed)]
        if not self._has_emptydir("/tmp"):
            lines.append("mount -o remount,ro /tmp")
        return lines

    def _has_emptydir(self, path: str) -> bool:
        volumes = {each["name"]: each for each in self.specification["volumes"]}
        mounts = [each for each in self.container["volumeMounts"] if each["mountPath"] == path]
        return any("emptyDir" in volumes[each["name"]] for each in mounts)

    def _as_user(self) -> list[str]:
        """The user of the Pod, without a capability; it dies with the test, which a change of user would undo."""
        user = self.specification["securityContext"]
        return [
            "exec setpriv",
            f"--reuid={user['runAsUser']}",
            f"--regid={user['runAsGroup']}",
            f"--groups={user['fsGroup']}",
            "--inh-caps=-all",
            "--bounding-set=-all",
            "--no-new-privs",
            "--pdeathsig=KILL",
            "--",
        ]
