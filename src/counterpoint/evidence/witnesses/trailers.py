"""Heads in commits: read from the newest, and the hook that a person asks for.

1. Only commits that HEAD or a local branch has count, `MOST` of them at most. A commit that was rewritten or squashed has
   gone with its head, which is nothing.
2. The hook is `commit-msg`: it runs when the message is done, so an empty one still ends the commit, and a rebase does not run it. It is
   a few lines of sh: git and awk, the checkpoint that is kept beside the database, no server. Whatever fails, the commit goes on.
3. A hook that is there is never touched, but one that is ours word for word; that one is replaced and taken away.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from counterpoint.core.ledger.witnesses.trailer import KEY, parse_trailer
from counterpoint.core.model.trust.heads import WitnessedHead
from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.replacing import replace_file
from counterpoint.kernel.clock import stamp
from counterpoint.kernel.errors import Conflict, NotFound, Unavailable

MOST: Final = 1_000
"""Commits that are read."""
_LIMIT_SECONDS: Final = 10.0
_FORMAT: Final = f"--format=%x1e%ct %(trailers:key={KEY},valueonly,unfold,separator=%x1f)"
_HOOK: Final = "hooks/commit-msg"
_TEXT: Final = """#!/bin/sh
# Written by `counterpoint audit trailer --install`; `counterpoint audit trailer --remove` takes it away.
# Adds the head of the ledger that was signed last to the message. Whatever fails, the commit goes on.
note={note}
ledger={ledger}
{{
  test -n "$(sed '/^. -* >8 -*$/,$d' "$1" | git stripspace --strip-comments)" &&
  head=$(awk -v ledger="$ledger" '
    NR == 1 {{ origin = $0 }} NR == 2 {{ size = $0 }} NR == 3 {{ root = $0 }}
    NR > 3 && $1 == "epoch" && NF == 2 {{ epoch = $2 }}
    NR > 3 && NF == 3 && $2 == origin && !signature {{ signature = $3 }}
    END {{
      if (!signature) exit 1
      printf "%s %s %s %s\\n %s\\n %s", origin, ledger, size, epoch ? epoch : 1, root, signature
    }}' "$note") &&
  git interpret-trailers --in-place --if-exists replace --trailer "{key}: $head" "$1"
}} >/dev/null 2>&1
exit 0
"""


def read_trailers(
    folder: Path, environ: Mapping[str, str], ledger: str
) -> tuple[WitnessedHead, ...]:
    """Return the heads of a ledger that commits have, each once, of the newest commit first; Unavailable."""
    if not os.path.lexists(folder / ".git"):
        return ()
    git = GitCall(folder=folder, environ=environ, limit_seconds=_LIMIT_SECONDS)
    if not git.agrees("rev-parse", "--quiet", "--verify", "HEAD^{commit}"):
        return ()
    try:
        output = git.ask(
            "log", "--no-show-signature", f"--max-count={MOST}", _FORMAT, "--branches", "HEAD", "--"
        )
    except GitRefused as fault:
        raise Unavailable(f"git does not read commits: {fault}") from fault
    heads: dict[str, WitnessedHead] = {}
    for head in _heads(output.decode("utf-8", "replace"), ledger):
        heads.setdefault(head.note, head)
    return tuple(heads.values())


def _heads(log: str, ledger: str) -> Iterator[WitnessedHead]:
    for commit in log.split("\x1e")[1:]:
        seconds, _, values = commit.partition(" ")
        for value in values.split("\x1f"):
            if (parsed := parse_trailer(value, ledger)) is not None:
                yield WitnessedHead(size=parsed[0], time=_time(seconds), note=parsed[1])


def _time(seconds: str) -> str:
    """Return when a commit says that it was made; empty for a date that is none."""
    with suppress(ValueError, OverflowError, OSError):
        return stamp(datetime.fromtimestamp(int(seconds), UTC))
    return ""


def install_hook(folder: Path, environ: Mapping[str, str], ledger: str, note: Path) -> Path:
    """Write the hook of a repository and return where; Conflict if there is another one. note: the kept checkpoint."""
    hook = _place(folder, environ)
    text = _TEXT.format(note=shlex.quote(os.fspath(note)), ledger=ledger, key=KEY)
    if os.path.lexists(hook) and not _is_ours(hook):
        raise _foreign(hook)
    with suppress(OSError):  # as git makes it; what keeps it from being made keeps the hook as well
        hook.parent.mkdir(exist_ok=True)
    replace_file(hook, text.encode(), mode=0o755)
    return hook


def remove_hook(folder: Path, environ: Mapping[str, str]) -> Path:
    """Take the hook away and return where it was; NotFound, and Conflict if it is not ours as it was written."""
    hook = _place(folder, environ)
    if not os.path.lexists(hook):
        raise NotFound("there is no such hook", hint="Nothing adds heads to commits here.")
    if not _is_ours(hook):
        raise _foreign(hook)
    hook.unlink()
    return hook


def _place(folder: Path, environ: Mapping[str, str]) -> Path:
    """Return the path of the hook, which all work trees of a repository share; Conflict, NotFound."""
    git = GitCall(folder=folder, environ=environ, limit_seconds=_LIMIT_SECONDS)
    try:
        shared = Path(git.line("rev-parse", "--git-common-dir"))
    except GitRefused as fault:
        raise NotFound("there is no git repository here", hint="Run `git init`.") from fault
    # The last one is of our own call: it keeps hooks from running.
    if len(git.parts(["config", "--null", "--get-all", "core.hooksPath"])) > 1:
        raise Conflict("core.hooksPath leads git to hooks of somebody else", hint=BY_HAND)
    return folder / shared / _HOOK


def _is_ours(hook: Path) -> bool:
    """Return whether a hook is what we write, whichever checkpoint it reads."""
    try:
        text = hook.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return _fixed(text) == _fixed(_TEXT.format(note="", ledger="", key=KEY))


def _fixed(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("note=", "ledger="))]


BY_HAND: Final = (
    "Nothing was changed. Add this to the `commit-msg` hook that runs: `git interpret-trailers --in-place"
    ' --if-exists replace --trailer "$(counterpoint audit trailer)" "$1" || true`.'
)


def _foreign(hook: Path) -> Conflict:
    return Conflict(f"{hook} is another hook, or was changed", hint=BY_HAND)
