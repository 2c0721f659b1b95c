"""The repository of the project as a witness: its own ref, and that of a remote.

Layout: `refs/counterpoint/heads/<ledger>` names a commit whose tree has one file, `checkpoint`, the signed
note; its parent is the commit of the head before, its date is when it was written.

1. Only plumbing is used (`hash-object`, `mktree`, `commit-tree`, `update-ref`) with a fixed identity: no branch,
   no HEAD, no index, no work tree, no hook and no reflog is touched. `update-ref` names the old value, so that of
   two processes one wins.
2. A repository is used if the project's own folder has it; one somewhere above is somebody else's.
3. A remote gets the ref only if it is named, by a push that is never forced and asks nobody for a password. It is read by
   fetching into a folder that passes away: nothing of the repository changes.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from counterpoint.core.model.trust.heads import SignedHead, WitnessedHead
from counterpoint.core.ports.witnesses import Prove
from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.kernel.clock import Clock, moment, stamp
from counterpoint.kernel.errors import InvalidInput, LedgerBroken, ProofMismatch, Unavailable
from counterpoint.kernel.places import HEADS

_REFS = f"{HEADS}/"
_LEDGER = re.compile(r"[a-z0-9_]{1,64}")
_REMOTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_FILE = "checkpoint"
_LARGEST = 100_000
_NAME = "counterpoint"
_MAIL = "counterpoint@localhost"
_LIMIT_SECONDS = 10.0
_COMMITTED = re.compile(rb"^committer .* (\d{1,12}) [+-]\d{4}$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRef:
    """Keeps heads in a ref of the project's repository."""

    git: GitCall
    clock: Clock
    name: str = "git ref"

    def known(self, ledger: str) -> WitnessedHead | None:
        """Return the head that the ref has; Unavailable, ProofMismatch if it is something else."""
        commit_and_head = self._read(ledger)
        return commit_and_head[1] if commit_and_head else None

    def all(self) -> Iterator[tuple[str, WitnessedHead]]:
        """Return every ledger that has a ref here, with its head; Unavailable."""
        try:
            refs = self.git.line("for-each-ref", "--format=%(refname)", _REFS).splitlines()
        except GitRefused as fault:
            raise Unavailable(f"git does not list it: {fault}") from fault
        for ref in refs:
            # What somebody else wrote there is no head of ours.
            with suppress(LedgerBroken):
                if commit_and_head := read_head(self.git, ref):
                    yield ref.removeprefix(_REFS), commit_and_head[1]

    def ask(self, ledger: str, head: SignedHead, prove: Prove) -> WitnessedHead | None:
        """Return the same: there is nobody to ask."""
        del head, prove
        return self.known(ledger)

    def keep(self, ledger: str, head: SignedHead, prove: Prove) -> None:
        """Let the ref name a commit with the head; Unavailable if it cannot be written."""
        del prove
        before = self._read(ledger)
        identity = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (
                ("NAME", _NAME),
                ("EMAIL", _MAIL),
                ("DATE", f"@{int(moment(self.clock.now()).timestamp())} +0000"),
            )
        }
        parents = ("-p", before[0]) if before else ()
        message = f"{head.size} entries\n".encode()
        try:
            blob = _word(self.git.ask("hash-object", "-w", "--stdin", stdin=head.note.encode()))
            listed = f"100644 blob {blob}\t{_FILE}\n".encode()
            tree = _word(self.git.ask("mktree", stdin=listed))
            commit = _word(
                self.git.ask("commit-tree", tree, *parents, stdin=message, extra=identity)
            )
            old = before[0] if before else "0" * len(commit)
            self.git.ask(
                "-c",
                "core.logAllRefUpdates=false",
                "update-ref",
                "--no-deref",
                _ref(ledger),
                commit,
                old,
            )
        except GitRefused as fault:
            raise Unavailable(f"git does not write it: {fault}") from fault

    def cosign(self, ledger: str, head: SignedHead, prove: Prove) -> str:
        """Return nothing: a ref signs no head."""
        del ledger, head, prove
        return ""

    def _read(self, ledger: str) -> tuple[str, WitnessedHead] | None:
        """Return the commit that the ref names and its head; None without the ref."""
        return read_head(self.git, _ref(ledger))


@dataclass(kw_only=True)
class GitRemote:
    """Has the ref of the repository at a remote."""

    git: GitCall
    remote: str
    _sent: dict[str, WitnessedHead] = field(init=False, default_factory=dict[str, WitnessedHead])

    @property
    def name(self) -> str:
        """What it is called in answers."""
        return f"git remote {self.remote}"

    def known(self, ledger: str) -> WitnessedHead | None:
        """Return what this process has sent there."""
        return self._sent.get(ledger)

    def ask(self, ledger: str, head: SignedHead, prove: Prove) -> WitnessedHead | None:
        """Return the head that the remote has; Unavailable, ProofMismatch."""
        del head, prove
        ref = _ref(ledger)
        try:
            listed = self.git.ask(
                "ls-remote", "--quiet", _UPLOAD, "--", self.remote, ref, extra=_SILENT
            )
            if not listed:
                return None
            commit = _word(listed.split(b"\t")[0])
            objects = self.git.folder / self.git.line("rev-parse", "--git-path", "objects")
            with tempfile.TemporaryDirectory(prefix="counterpoint-") as passing:
                beside = {
                    **_SILENT,
                    "GIT_OBJECT_DIRECTORY": passing,
                    "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fspath(objects),
                }
                self.git.ask(*_FETCH, _UPLOAD, "--", self.remote, ref, extra=beside)
                commit_and_head = read_head(self.git, commit, beside)
        except GitRefused as fault:
            raise Unavailable(f"git does not reach it: {fault}") from fault
        return commit_and_head[1] if commit_and_head else None

    def keep(self, ledger: str, head: SignedHead, prove: Prove) -> None:
        """Push the ref as the repository has it, without force; Unavailable."""
        del head, prove
        ref = _ref(ledger)
        commit_and_head = read_head(self.git, ref)
        if commit_and_head is None:
            raise Unavailable("the repository has no head that could be pushed")
        try:
            address = self.git.line("remote", "get-url", "--push", "--", self.remote)
            receive = _NO_HOOKS if _is_here(address) else _RECEIVE
            push = ("push", "--quiet", "--no-verify", receive, "--", self.remote)
            self.git.ask(*push, f"{commit_and_head[0]}:{ref}", extra=_SILENT)
        except GitRefused as fault:
            raise Unavailable(f"git does not push to it: {fault}") from fault
        self._sent[ledger] = commit_and_head[1]

    def cosign(self, ledger: str, head: SignedHead, prove: Prove) -> str:
        """Return nothing: a remote signs no head."""
        del ledger, head, prove
        return ""


_SILENT = {
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
}
"""What keeps from asking somebody who is not there, and by what a remote may be reached: by no program that its address names."""
_UPLOAD = "--upload-pack=git-upload-pack"
_RECEIVE = "--receive-pack=git-receive-pack"
"""Said with the call: of several settings of a remote's programs git takes the first, which is the repository's."""
_NO_HOOKS = f"--receive-pack=git -c core.hooksPath={os.devnull} -c core.alternateRefsCommand=true receive-pack"
"""What takes a push on this machine: the hooks of a repository that the address leads to may have come with ours."""
_FETCH = (
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-gc",
    "--no-recurse-submodules",
    "--refmap=",
)


def open_git(
    folder: Path, environ: Mapping[str, str], clock: Clock, remote: str = ""
) -> tuple[GitRef | GitRemote, ...]:
    """Return the repository of a folder as a witness, and a remote of it; none if there is no repository."""
    # A bare repository is a home of its own (kernel/places.py), and has no `.git`.
    if not os.path.lexists(folder / ".git") and not (folder / "objects").is_dir():
        return ()
    git = GitCall(folder=folder, environ=environ, limit_seconds=_LIMIT_SECONDS)
    if not remote:
        return (GitRef(git=git, clock=clock),)
    if not _REMOTE.fullmatch(remote):
        raise InvalidInput(
            f"{remote!r} is no name of a git remote",
            hint="Set COUNTERPOINT_WITNESS_PUSH to a name that `git remote` lists.",
        )
    return (GitRef(git=git, clock=clock), GitRemote(git=git, remote=remote))


def read_head(
    git: GitCall, commit: str, extra: Mapping[str, str] | None = None
) -> tuple[str, WitnessedHead] | None:
    """Return the id of a commit, and the head in it; None if there is no such commit.

    Unavailable if git says nothing; ProofMismatch if it is another thing than we write.
    """
    query = f"{commit}^{{commit}}\n{commit}:{_FILE}\n".encode()
    try:
        answer = git.ask("cat-file", "--batch", stdin=query, extra=extra)
    except GitRefused as fault:
        raise Unavailable(f"git does not read it: {' '.join(str(fault).split())}") from fault
    name, content, remainder = _object(answer)
    if content is None:
        return None
    _, note, _ = _object(remainder)
    date = _COMMITTED.search(content)
    if note is None or date is None or len(note) > _LARGEST:
        raise _strange()
    try:
        when = stamp(datetime.fromtimestamp(int(date[1]), UTC))
        return name, WitnessedHead(
            size=_size(note), time=when, note=note.decode("utf-8", "replace")
        )
    except (ValueError, OverflowError, OSError) as fault:
        raise _strange() from fault


def _is_here(address: str) -> bool:
    """Return whether an address is a path of this machine, as git tells (gitprotocol-common, git-clone)."""
    before = address.partition("/")[0]
    return address.startswith("file://") or ("://" not in address and ":" not in before)


def _object(answer: bytes) -> tuple[str, bytes | None, bytes]:
    """Return name and content of the first object that `cat-file --batch` tells of, and the rest."""
    line, _, remainder = answer.partition(b"\n")
    words = line.split()
    if len(words) != 3 or not words[2].isdigit():  # noqa: PLR2004 - name, type, size
        return "", None, remainder
    end = int(words[2])
    return words[0].decode(), remainder[:end], remainder[end + 1 :]


def _size(note: bytes) -> int:
    """Return the size that a note says; the core looks whether it is signed."""
    line = note.partition(b"\n")[2].partition(b"\n")[0]
    return int(line) if line.isdigit() else 0


def _strange() -> LedgerBroken:
    return ProofMismatch(
        "it names something that is no head of a ledger",
        hint="Somebody else has written to it: see `git log refs/counterpoint/heads/…`.",
    )


def _ref(ledger: str) -> str:
    if not _LEDGER.fullmatch(ledger):
        raise Unavailable("this ledger has no id that a ref could have")
    return _REFS + ledger


def _word(answer: bytes) -> str:
    return answer.decode("ascii", "replace").strip()
