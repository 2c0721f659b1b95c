"""Compares two records step by step, and says which differences were not expected.

What is meant to differ stands with its reason in `expected.toml`.
"""

from __future__ import annotations

import argparse
import difflib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import recording
from expecting import Rewording, Rules
from pairing import Pairs
from telling import told, without_wording

_Scene = Mapping[str, Any]
"""The answer of each step."""


def compare(here: Path, asked: argparse.Namespace) -> int:
    """Print what differs between two records; return 1 if anything does that was not expected."""
    path = Path(asked.base)
    before = (
        _read(path, asked.only) if path.is_file() else _of_revision(here, asked.base, asked.only)
    )
    after = _read(asked.other, asked.only) if asked.other else recording.record(here, asked.only)
    rules = Rules()
    lines: list[str] = []
    steps = 0
    for step, found in differences(before, after, rules, ignore_wording=asked.ignore_wording):
        steps += 1
        lines += [f"== {step}", *found, ""]
    lines += [
        f"expected, {number} lines: {reason}" for reason, number in rules.met.items() if number
    ]
    lines += [] if asked.only else [f"never met: {reason}" for reason in rules.unmet()]
    lines.append(f"{steps} steps of {sum(map(len, after.values()))} differ unexpectedly")
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if asked.output:
        asked.output.write_text(text, "utf-8")
    return 1 if steps else 0


def _read(path: Path, only: str) -> dict[str, Any]:
    scenes = json.loads(path.read_text("utf-8"))
    return {name: steps for name, steps in scenes.items() if only in name}


def _of_revision(here: Path, revision: str, only: str) -> dict[str, Any]:
    """Return the record of a revision, made in a worktree with an environment of its own."""
    top = Path(tempfile.mkdtemp(prefix="outside-base-"))
    tree = top / "tree"
    git = shutil.which("git") or "git"
    make = shutil.which("make") or "make"
    try:
        _run([git, "-C", str(here), "worktree", "add", "--quiet", "--detach", str(tree), revision])
        _run([make, "--silent", "-C", str(tree), "install"])
        return recording.record(tree, only)
    finally:
        _run([git, "-C", str(here), "worktree", "remove", "--force", str(tree)], check=False)
        shutil.rmtree(top, ignore_errors=True)


def _run(words: list[str], *, check: bool = True) -> None:
    subprocess.run(words, check=check, stdout=sys.stderr)  # noqa: S603 -- git and make of this machine


def differences(
    before: Mapping[str, _Scene],
    after: Mapping[str, _Scene],
    rules: Rules,
    *,
    ignore_wording: bool,
) -> Iterator[tuple[str, list[str]]]:
    """Yield each step that differs unexpectedly, with its lines in the form of `diff -u`."""
    for scene in {**before, **after}:
        pairs = Pairs()
        old, fresh = (_named(scene, steps.get(scene, {}), rules) for steps in (before, after))
        for step, *answers in _steps(old, fresh, pairs):
            reword = rules.rewording(step)
            was, now = (_lines(found, reword, ignore_wording) for found in answers)
            pairs.learn(was, now)
            now = [pairs.translate(line) for line in now]
            found = list(difflib.unified_diff(was, now, n=2, lineterm=""))[2:]
            if rules.unexpected(step, [line for line in found if line[0] in "+-"]):
                yield step, found


def _named(scene: str, steps: _Scene, rules: Rules) -> _Scene:
    """Return steps by the names that both records have for them. Raise ValueError if two get one."""
    named: dict[str, Any] = {}
    for title, answer in steps.items():
        step = f"{scene} / {title}"
        name = rules.rewording(step)(step)
        if name in named:
            raise ValueError(f"a rule gives two steps the name {name}")
        named[name] = answer
    return named


def _lines(found: Sequence[Any], reword: Rewording, ignore_wording: bool) -> list[str]:
    answers = [without_wording(one) if ignore_wording else one for one in found]
    return [line for answer in answers for line in told(answer, "", reword)]


def _steps(
    before: _Scene, after: _Scene, pairs: Pairs
) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Yield each step by its title in the earlier scene, with its answer in each, if there is one."""
    gone = dict(before)
    for title, answer in after.items():
        step = pairs.find(title, gone)
        yield step, [gone.pop(step)] if step in gone else [], [answer]
    for step, answer in gone.items():
        yield step, [answer], []
