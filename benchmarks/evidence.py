"""Start and finish a task in a repository of 50,000 files, beside the git commands it needs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from _floors import appending, open_bare
from _measure import Row, Series, asked, caller, folder, graph, median, opened, publish, row

from counterpoint.app import App
from counterpoint.core.model.answers import Started
from counterpoint.core.model.filters import Report

Halves = tuple[Callable[[], object], Callable[[], object]]

_FILES = 50_000
_FOLDER = 50
_EDITED = 10
_ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
_LINES = ("diff", "--raw", "--numstat", "-z", "-M")


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is done between start and finish, and the git commands that nobody can do without.

    needed: beside the `git status` at the start and the one at the end.
    """

    what: str
    work: str = ":"
    undo: str = ":"
    needed: tuple[tuple[str, ...], ...] = ()


_PATHS = tuple(f"src/p{number:02}/m00/f00.py" for number in range(_EDITED))
_MOVED = tuple(f"src/p{number:02}/m01/f01.py" for number in range(5))
_EDIT = f"for f in {' '.join(_PATHS)}; do echo x >> $f; done"
CASES = (
    Case(what="nothing changes"),
    Case(
        what=f"{_EDITED} files edited",
        work=_EDIT,
        undo="git checkout -q -- src",
        needed=((*_LINES, "HEAD", "--", *_PATHS),),
    ),
    Case(
        what=f"{_EDITED} files edited, 5 added, 5 renamed",
        work=f"{_EDIT}; for n in 0 1 2 3 4; do echo $n > src/new$n.py;"
        " git mv src/p0$n/m01/f01.py src/moved$n.py; done",
        undo="git reset -q --hard; git clean -qfd",
        needed=(
            (*_LINES, "HEAD", "--", *_PATHS, *_MOVED, *(f"src/moved{n}.py" for n in range(5))),
        ),
    ),
    Case(
        what=f"{_EDITED} files edited and committed",
        work=f"{_EDIT}; git commit -qam work",
        undo="git reset -q --hard HEAD~1",
        needed=((*_LINES, "HEAD~1", "HEAD"), ("rev-list", "HEAD~1..HEAD")),
    ),
)


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=20)
    rows: list[Row] = []
    with folder() as place, ExitStack() as held:
        tree, plain = place / "tree", place / "plain"
        _make(tree)
        append = appending(open_bare(place / "bare.db"), 1000)
        app, bare = held.enter_context(opened(tree, plain, environ=_ENVIRON))
        ready = iter(graph(caller(app)(), "free", 1_000))
        for case in CASES:
            halves = {"ours": _task(app, ready), "floor": _bare_git(tree, case, append)}
            found = _in_turn(halves, case, tree, wanted.rounds)
            runs = f"2 commits, {2 + len(case.needed)} git runs"
            rows += _present(f"start + finish, {case.what}", found, runs, most=1.5)
        if wanted.full:
            halves = {"ours": _task(bare, ready), "floor": _hashing(plain, append)}
            found = _in_turn(halves, CASES[0], tree, min(wanted.rounds, 5))
            rows += _present("start + finish without git", found, "2 commits, hashing all twice")
    publish("evidence", rows)


def _present(what: str, found: Series, runs: str, most: float | None = None) -> list[Row]:
    floor = median(found["floor"])
    return [
        row(what, found["ours"], floor=floor, beside=runs, most=most),
        row(f"  {runs}", found["floor"]),
    ]


def _in_turn(halves: Mapping[str, Halves], case: Case, tree: Path, rounds: int) -> Series:
    """Answer the seconds of both halves together; the work between them is not in them."""
    seconds: Series = {name: [] for name in halves}
    for number in range(-2, rounds):
        for name, (start, finish) in halves.items():
            spent = _timed(start)
            _shell(case.work, tree)
            spent += _timed(finish)
            _shell(case.undo, tree)
            _shell("GIT_OPTIONAL_LOCKS=1 git status --short", tree)
            if number >= 0:
                seconds[name].append(spent)
    return seconds


def _timed(half: Callable[[], object]) -> float:
    begin = time.perf_counter()
    half()
    return time.perf_counter() - begin


def _task(app: App, ready: Iterator[str]) -> Halves:
    """Answer what starts the next ready task and what finishes it."""
    core = caller(app)
    begun: list[Started] = []
    report = Report(outcome="done", summary="done")

    def finish() -> None:
        started = begun.pop()
        core().tasks.finish(started.item.id, started.claim.token, report)

    return lambda: begun.append(core().claims.start(next(ready))), finish


def _bare_git(tree: Path, case: Case, append: Callable[[], None]) -> Halves:
    def run(*commands: Sequence[str]) -> None:
        for arguments in commands:
            subprocess.run(
                ["git", *arguments], cwd=tree, env=_ENVIRON, stdout=subprocess.PIPE, check=True
            )
        append()

    return lambda: run(_STATUS), lambda: run(_STATUS, *case.needed)


def _hashing(plain: Path, append: Callable[[], None]) -> Halves:
    def run() -> None:
        for folder_, _, names in os.walk(plain):
            for name in names:
                with open(os.path.join(folder_, name), "rb") as file:  # noqa: PTH118, PTH123 - the floor
                    hashlib.sha256(file.read()).hexdigest()
        append()

    return run, run


def _make(tree: Path) -> None:
    """Fill a repository, and a folder beside it with the same files."""
    text = "".join(f"name_{line} = {line}\n" for line in range(40))
    for number in range(_FILES):
        inside = tree / f"src/p{number // 1000:02}/m{number // _FOLDER % 20:02}"
        if number % _FOLDER == 0:
            inside.mkdir(parents=True)
        (inside / f"f{number % _FOLDER:02}.py").write_text(f"number = {number}\n{text}")
    shutil.copytree(tree, tree.parent / "plain")
    _shell("git init -q --template= .; git add .; git commit -qm seed", tree)


def _shell(script: str, tree: Path) -> None:
    subprocess.run(
        ["sh", "-ec", script], cwd=tree, env=_ENVIRON, stdout=subprocess.DEVNULL, check=True
    )


if __name__ == "__main__":
    main()
