"""Private remotes for tests: bare repositories, reached by a real ssh over loopback or, faster, by a stand-in.

`SshHost` is Debian's own `sshd` with keys, a port and a list of known hosts of its own; the `ssh` that git finds is the
system's, told of them by a configuration file. Nothing of the user's `~/.ssh` is read or written. `Switchboard` takes
the place of the network only: the same git commands run against a folder of this machine, and may be cut off.
"""

from __future__ import annotations

import getpass
import os
import re
import select
import shutil
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kit.repos import HERMETIC, raw_git

from memrepo.errors import GitFailed
from memrepo.git import client as client_module
from memrepo.git.process import GitOutput, run_git

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

SSHD = shutil.which("sshd", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))
WHY_NO_SSHD = "there is no sshd on this machine (Debian: apt-get install openssh-server)"
_PRIVILEGE_FOLDER = Path("/run/sshd")


def make_bare(place: Path) -> Path:
    """An empty bare repository, as a host makes one."""
    place.mkdir(parents=True)
    raw_git(place, "init", "--quiet", "--bare", "--template=", "--initial-branch=main")
    return place


class SshHost:
    """An sshd on a free port of loopback; `url(path)` is the address of a folder on it. `close` ends it."""

    def __init__(self, folder: Path) -> None:
        assert SSHD is not None
        folder.mkdir(parents=True)
        folder.chmod(0o700)
        if os.getuid() == 0:
            _PRIVILEGE_FOLDER.mkdir(mode=0o755, exist_ok=True)
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], check=True)
        shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
        self.port = _find_free_port()
        host_key = (folder / "host_key.pub").read_text().split()
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {host_key[0]} {host_key[1]}\n")
        self.programs = folder / "bin"
        self._write_client(folder)
        self._child = self._start(folder)

    def url(self, place: Path) -> str:
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{place}"

    def close(self) -> None:
        self._child.terminate()
        self._child.wait()
        assert self._child.stderr is not None
        self._child.stderr.close()

    def put_on_path(self, patch: pytest.MonkeyPatch) -> None:
        """From now on the `ssh` that git finds knows this host and its key."""
        patch.setenv("PATH", f"{self.programs}{os.pathsep}{os.environ['PATH']}")

    def _write_client(self, folder: Path) -> None:
        ssh = shutil.which("ssh")
        assert ssh is not None
        config = folder / "ssh_config"
        config.write_text(
            f"UserKnownHostsFile {self.known_hosts}\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n"
            f"IdentityFile {folder / 'user_key'}\nIdentitiesOnly yes\nIdentityAgent none\n"
        )
        self.programs.mkdir()
        program = self.programs / "ssh"
        program.write_text(f'#!/bin/sh\nexec "{ssh}" -F "{config}" "$@"\n')
        program.chmod(0o755)

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        config = folder / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host_key'}\nPidFile none\n"
            f"AuthorizedKeysFile {folder / 'authorized_keys'}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nAllowTcpForwarding no\n"
            "X11Forwarding no\nPermitUserRC no\nPrintMotd no\nMaxStartups 100\nLogLevel INFO\n"
        )
        child = subprocess.Popen([str(SSHD), "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE)
        said = b""
        while b"Server listening" not in said:
            assert child.stderr is not None
            assert select.select([child.stderr], [], [], 30)[0], said
            piece = os.read(child.stderr.fileno(), 4096)
            assert piece, said
            said += piece
        return child


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Switchboard:
    """Stands between the client and the network: the address `URL` is a folder here, and calls may be cut.

    `cut` says of a call (its verb and its number, from 1) what becomes of it: "" it goes through, "before" the line is
    dead, "after" the remote did it and the answer is lost.
    """

    places: dict[str, Path] = field(default_factory=dict)
    cut: Callable[[str, int], str] = lambda _, __: ""
    calls: list[str] = field(default_factory=list)

    def put_in(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(client_module, "run_git", self)

    def __call__(self, root: Path, args: Sequence[str], **options: Any) -> GitOutput:
        if not options.get("network"):
            return run_git(root, args, **options)
        self.calls.append(args[0])
        fate = self.cut(args[0], len(self.calls))
        if fate == "before":
            raise _dead_line(args)
        there = [str(self.places.get(arg, arg)) for arg in args]
        done = subprocess.run(
            ["git", f"--git-dir={root / '.git'}", *there],
            env={"PATH": os.environ["PATH"], **HERMETIC},
            capture_output=True,
            check=False,
        )
        if fate == "after":
            raise _dead_line(args)
        if done.returncode not in options.get("ok_codes", (0,)):
            lines = tuple(done.stderr.decode("utf-8", "replace").splitlines())
            raise GitFailed(f"git {args[0]} failed", argv=("git", args[0]), exit_code=done.returncode, stderr=lines)
        return GitOutput(done.stdout, done.stderr, done.returncode)


def _dead_line(args: Sequence[str]) -> GitFailed:
    said = ("ssh: connect to host example.org port 22: Connection timed out",)
    return GitFailed(f"git {args[0]} failed", argv=("git", args[0]), exit_code=128, stderr=said)


def list_remote_objects(bare: Path) -> bytes:
    """Everything that the remote holds, reachable or not, as one text."""
    return raw_git(bare, "cat-file", "--batch-all-objects", "--batch", "--unordered")


def remote_subjects(bare: Path) -> list[str]:
    """Subjects of the remote's commits, newest first; [] when it is empty."""
    with suppress(AssertionError):
        return raw_git(bare, "log", "--format=%s", "main").decode().splitlines()
    return []


def remote_file(bare: Path, path: str) -> str:
    return raw_git(bare, "show", f"main:{path}").decode()


def remote_tree(bare: Path) -> dict[str, str]:
    """Mode and blob by path at the remote's head."""
    listed = raw_git(bare, "ls-tree", "-r", "-z", "main").decode("utf-8", "surrogateescape")
    return {row.partition("\t")[2]: re.split(r"[ \t]", row)[2] for row in listed.split("\0") if row}
