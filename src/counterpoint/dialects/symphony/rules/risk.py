"""How risky a change is, and which gates it needs.

How risky a change is, from its size, the paths it touches and its gates.

    part        points   of
    lines       0–40     changed lines, in full at `high_lines`
    files       0–30     changed files, in full at `high_files`
    sensitive   0, 20    whether a path lies in a sensitive area
    gates       0, 5, 10 a required gate failed: 10; another failed, or passed only by the agent's word: 5

Level `high` if and only if lines ≥ `high_lines`, files ≥ `high_files`, a sensitive path is touched or a
required gate failed. Otherwise `low` if and only if lines ≤ `low_lines` and files ≤ `low_files`.
Otherwise `medium`. Of one command the result that the server measured counts, not the claimed one.

Commands of gates: one program and its arguments, or a line for a shell.
Rule 1: a command is read as a POSIX shell would cut it into words, quotes and backslashes included. Rule 2: a
text with an operator (`&&`, `|`, `;`, `>`, …), a variable that is set before the program, a variable or a substitution outside of single quotes, or with a word
of nothing but operators, even in quotes, means something else than its words; so it is run by `sh -c`. Rule 3: what
a project may have run is judged as any command: a person trusts `sh`, `-c` and the text, or lists no such command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from counterpoint.core.rules.areas import covers
from counterpoint.core.rules.wording import few
from counterpoint.dialects.symphony.nouns import Policy, PolicyEdit
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import agree, counted

Level = Literal["low", "medium", "high"]
Basis = Literal["verified", "claimed", "mixed", "none"]
THRESHOLD_LIMIT = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Up to where a change is small, and from where it is large."""

    low_lines: int = 50
    high_lines: int = 500
    low_files: int = 3
    high_files: int = 15


THRESHOLDS = ("low_lines", "high_lines", "low_files", "high_files")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """How a command ended; `is_verified` if the server ran it, otherwise the agent says so."""

    command: str
    label: str
    is_passed: bool
    is_required: bool = True
    is_verified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskParts:
    """The points of each part."""

    lines: int
    files: int
    sensitive: int
    gates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """How risky a change is.

    score: the sum of the parts, 0 to 100. basis: which gate results were used.
    reasons: in words, one for each part that adds points and for the basis of the gates.
    """

    level: Level
    score: int
    parts: RiskParts
    basis: Basis
    sensitive: tuple[str, ...]
    reasons: tuple[str, ...]


def thresholds_of(values: Mapping[str, object]) -> Thresholds:
    """Return thresholds with some of them replaced; InvalidInput names everything that is wrong."""
    faults = [
        f"{name!r} is not a threshold: there are {', '.join(THRESHOLDS)}"
        for name in values
        if name not in THRESHOLDS
    ]
    overrides: dict[str, int] = {}
    for name in THRESHOLDS:
        value = values.get(name, 1)
        if type(value) is not int or not 1 <= value <= THRESHOLD_LIMIT:
            faults.append(f"{name} is not a whole number from 1 to {THRESHOLD_LIMIT}")
        elif name in values:
            overrides[name] = value
    chosen = Thresholds(**overrides)
    for low, high in (("low_lines", "high_lines"), ("low_files", "high_files")):
        least, most = getattr(chosen, low), getattr(chosen, high)
        if not faults and least > most:
            faults.append(f"{low} ({least}) is above {high} ({most})")
    if faults:
        raise InvalidInput("; ".join(faults), hint="Each low threshold is at most its high one.")
    return chosen


def sensitive_paths(paths: Iterable[str], areas: Sequence[str]) -> list[str]:
    """Return the paths that lie in a sensitive area.

    As in `.gitignore`, an area without a slash before its end counts in every folder.
    """
    anywhere = [area if "/" in area.rstrip("/") else f"**/{area}" for area in areas if area.strip()]
    return [path for path in paths if any(covers(area, path) for area in anywhere)]


def used(results: Iterable[GateResult]) -> list[GateResult]:
    """Return the result that counts of each command: measured before claimed, then the last."""
    chosen: dict[str, GateResult] = {}
    for result in results:
        before = chosen.get(result.command)
        if before is None or result.is_verified or not before.is_verified:
            chosen[result.command] = result
    return list(chosen.values())


def basis_of(results: Sequence[GateResult]) -> Basis:
    """Return whether results were measured by the server, claimed by the agent, both or none."""
    kinds = {result.is_verified for result in results}
    if not kinds:
        return "none"
    if len(kinds) > 1:
        return "mixed"
    return "verified" if True in kinds else "claimed"


def judge(
    *,
    lines: int,
    files: int,
    sensitive: Sequence[str] = (),
    gates: Iterable[GateResult] = (),
    thresholds: Thresholds | None = None,
) -> Risk:
    """Return how risky a change is, with the points of each part and the reasons in words."""
    most = thresholds or Thresholds()
    results = used(gates)
    failed = [result for result in results if not result.is_passed]
    parts = RiskParts(
        lines=_share(lines, most.high_lines, 40),
        files=_share(files, most.high_files, 30),
        sensitive=20 if sensitive else 0,
        gates=_gate_points(results),
    )
    is_large = lines >= most.high_lines or files >= most.high_files
    is_small = lines <= most.low_lines and files <= most.low_files
    level: Level = "low" if is_small else "medium"
    if is_large or sensitive or any(result.is_required for result in failed):
        level = "high"
    basis = basis_of(results)
    reasons = [*_size_reasons(lines, files, most), *_sensitive_reasons(sensitive)]
    return Risk(
        level=level,
        score=parts.lines + parts.files + parts.sensitive + parts.gates,
        parts=parts,
        basis=basis,
        sensitive=tuple(sensitive),
        reasons=(*reasons, *_gate_reasons(failed, results, basis)),
    )


def _share(value: int, full: int, points: int) -> int:
    """Return the points for a value, all of them at `full`; halves are rounded up."""
    return (2 * points * min(value, full) + full) // (2 * full)


def _gate_points(results: Sequence[GateResult]) -> int:
    if any(result.is_required and not result.is_passed for result in results):
        return 10
    return 5 if any(not (result.is_passed and result.is_verified) for result in results) else 0


def _size_reasons(lines: int, files: int, most: Thresholds) -> Iterable[str]:
    for what, value, low, high in (
        ("line", lines, most.low_lines, most.high_lines),
        ("file", files, most.low_files, most.high_files),
    ):
        if value >= high:
            yield f"{counted(value, f'changed {what}')}: large from {high}"
        elif value > low:
            yield f"{counted(value, f'changed {what}')}: more than {low}"
        else:
            yield f"{counted(value, f'changed {what}')}: small up to {low}"


def _sensitive_reasons(sensitive: Sequence[str]) -> Iterable[str]:
    if sensitive:
        yield f"{counted(len(sensitive), 'sensitive path')}: {few(sensitive)}"


def _gate_reasons(
    failed: Sequence[GateResult], results: Sequence[GateResult], basis: Basis
) -> Iterable[str]:
    for result in failed:
        need = "required" if result.is_required else "optional"
        yield f"the {need} gate {result.label or result.command} failed"
    claimed = [result.label or result.command for result in results if not result.is_verified]
    if basis == "none":
        yield "no gate results"
    elif claimed:
        yield f"only claimed by the agent, not run by the server: {few(claimed)}"
    else:
        yield f"{agree(len(results), 'gate result', 'was')} measured by the server"


def list_relaxed_parts(before: Policy, edit: PolicyEdit) -> list[str]:
    """Return the names of the parts that an edit relaxes.

    Relaxed is: a gate that is removed or optional, a path that is no longer sensitive, a higher threshold, a removed phase.
    Any other wording of the judges' instructions counts as relaxed, since no program can compare it.
    """
    less_by_part = {
        "gates": edit.gates is not None and not _gates(before) <= _demands_of(edit),
        "sensitive paths": edit.sensitive_paths is not None
        and not set(before.sensitive_paths) <= set(edit.sensitive_paths),
        "thresholds": edit.thresholds is not None
        and _is_higher(before.thresholds, edit.thresholds),
        "phases": edit.phases is not None and not set(before.phases) <= set(edit.phases),
        "instructions of judges": edit.instructions.get("judge", before.instructions.get("judge"))
        != before.instructions.get("judge"),
    }
    return [name for name, is_less in less_by_part.items() if is_less]


def _gates(policy: Policy) -> set[tuple[str, bool]]:
    return {(gate.command, gate.required) for gate in policy.gates}


def _demands_of(edit: PolicyEdit) -> set[tuple[str, bool]]:
    demands = {(gate.command, gate.required) for gate in edit.gates or ()}
    # A required gate also satisfies the demand for an optional one.
    return demands | {(command, False) for command, _ in demands}


def _is_higher(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    was, now = thresholds_of(dict(before)), thresholds_of(dict(after))
    return any(getattr(now, name) > getattr(was, name) for name in THRESHOLDS)


_OPERATORS = frozenset("|&;<>()`\n")
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_HINT = "Write a program with its arguments, or a line for a shell."


def argv_of(command: str) -> tuple[str, ...]:
    """Return the argument list of a command; InvalidInput if it cannot be read, or is empty."""
    reader = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()`\n")
    reader.whitespace = " \t"
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        words = tuple(reader)
    except ValueError as fault:
        raise InvalidInput(f"{command[:200]!r} cannot be read: {fault}", hint=_HINT) from fault
    if not words or not command.strip():
        raise InvalidInput("the command is empty", hint=_HINT)
    is_shells = any(word and set(word) <= _OPERATORS for word in words) or _has_variable(command)
    if is_shells or _ASSIGNS.match(words[0]):
        return "sh", "-c", command
    return words


def _has_variable(command: str) -> bool:
    """Return whether a `$` stands where a shell would replace it."""
    quote, is_escaped = "", False
    for letter in command:
        if is_escaped:
            is_escaped = False
        elif letter == "\\" and quote != "'":
            is_escaped = True
        elif letter in "'\"" and quote in {"", letter}:
            quote = "" if quote else letter
        elif letter == "$" and quote != "'":
            return True
    return False
