"""Opens what measures and runs, as the settings and the project say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from counterpoint.evidence.git.opened import OpenTrees
from counterpoint.evidence.local import LocalEvidence
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.kernel.clock import Clock


def open_evidence(
    clock: Clock,
    trees: OpenTrees,
    database: Path,
    home: Path,
    environs: tuple[Mapping[str, str], Mapping[str, str] | None],
    passed: str,
    remarks: Sequence[str],
) -> LocalEvidence:
    """Return what measures working trees and runs commands for a project.

    environs: the caller's variables, and those that git and commands get theirs of (None: the same). passed: names of more, by commas. remarks: what
    whoever starts a task is to know of the place.
    """
    environ, serving = environs
    return LocalEvidence(
        clock=clock,
        environ=environ,
        serving=serving,
        passed=tuple(name for name in passed.split(",") if name),
        checking=partial(read_checking, home),
        database=database,
        trees=trees,
        remarks=remarks,
    )
