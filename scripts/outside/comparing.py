"""Compares two records step by step, and says which differences were not expected.

The prose of hints and refusals is left out where wording is ignored: codes, kinds, keys, counts and
the order of steps never are. What else is meant to differ stands with its reason in `expected.toml`.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import recording

EXPECTED = Path(__file__).with_name("expected.toml")
WORDS = "<words>"
_ABSENT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A difference that is meant: in which steps, on which lines, and why."""

    step: re.Pattern[str]
    line: re.Pattern[str]
    reason: str


def compare(here: Path, asked: argparse.Namespace) -> int:
    """Print what differs between two records; return 1 if anything does that was not expected."""
    path = Path(asked.base)
    before = (
        _read(path, asked.only) if path.is_file() else _of_revision(here, asked.base, asked.only)
    )
    after = _read(asked.other, asked.only) if asked.other else recording.record(here, asked.only)
    expected = read_expected(EXPECTED)
    met: Counter[str] = Counter()
    lines: list[str] = []
    steps = 0
    for step, found in differences(before, after, ignore_wording=asked.ignore_wording):
        left = _unexpected(step, found, expected, met)
        steps += bool(left)
        lines += [f"== {step}", *left, ""] if left else []
    lines += [f"expected, {number} lines: {reason}" for reason, number in met.items()]
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


def read_expected(path: Path) -> tuple[Expected, ...]:
    """Return the differences that are meant."""
    rows = tomllib.loads(path.read_text("utf-8")).get("expected", [])
    return tuple(
        Expected(
            step=re.compile(row.get("step", "")),
            line=re.compile(row.get("line", "")),
            reason=row["reason"],
        )
        for row in rows
    )


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], *, ignore_wording: bool
) -> Iterator[tuple[str, list[str]]]:
    """Yield each step that differs, with its lines in the form of `diff -u`."""
    for scene in {**before, **after}:
        one, other = before.get(scene, {}), after.get(scene, {})
        for step in {**one, **other}:
            old = _lines(one.get(step, _ABSENT), ignore_wording=ignore_wording)
            fresh = _lines(other.get(step, _ABSENT), ignore_wording=ignore_wording)
            if old != fresh:
                found = difflib.unified_diff(old, fresh, n=2, lineterm="")
                yield f"{scene} / {step}", list(found)[2:]


def _lines(answer: Any, *, ignore_wording: bool) -> list[str]:
    if answer is _ABSENT:
        return []
    told = without_wording(answer) if ignore_wording else answer
    return json.dumps(told, indent=1, ensure_ascii=False).splitlines()


def without_wording(answer: Any) -> Any:
    """Return an answer without the prose of its hints and refusals."""
    match answer:
        case {"exit": int(code), "err": list(lines), **rest}:
            words = [WORDS] if lines and code else lines
            return {"exit": code, "err": words, **{k: without_wording(rest[k]) for k in rest}}
        case dict():
            prose = _prose(answer)
            return {
                key: _worded(value) if key in prose else without_wording(value)
                for key, value in answer.items()
            }
        case list():
            return [without_wording(one) for one in answer]
        case _:
            return answer


def _prose(answer: Mapping[str, Any]) -> set[str]:
    """Return the keys of an object that hold prose."""
    prose = {"hint", "problem", "faults"}
    if "code" in answer or "kind" in answer:
        prose.add("message")
    if "code" in answer and "details" in answer:
        prose.add("error")
    return prose


def _worded(value: Any) -> Any:
    match value:
        case str():
            return WORDS
        case list():
            return [_worded(one) if isinstance(one, str) else without_wording(one) for one in value]
        case _:
            return without_wording(value)


def _unexpected(
    step: str, found: list[str], expected: tuple[Expected, ...], met: Counter[str]
) -> list[str]:
    """Return the lines of a difference if one of them was not expected; count those that were."""
    changed = [line for line in found if line[:1] in {"+", "-"}]
    reasons = [
        next(
            (one.reason for one in expected if one.step.search(step) and one.line.search(line)), ""
        )
        for line in changed
    ]
    met.update(reason for reason in reasons if reason)
    return [] if all(reasons) else found
