"""Checks what the server depends on: ledger, disk, the folder of specs, git."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.nouns.condition import (
    LEAST_FREE_MB,
    Dependency,
    grade_of_disk,
)
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.verbs.asking import Askable
from counterpoint.kernel.errors import CounterpointError, MalformedDocument, PathOutside
from counterpoint.kernel.starting.programs import find_program

_MB: Final = 1_048_576


class Condition:
    """Health checks of a project."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def readiness(self) -> list[Dependency]:
        """Check what every call needs."""
        return [_measure(look) for look in (self._ledger, self._specs, self._disk)]

    def everything(self) -> list[Dependency]:
        """Check what some calls need, too."""
        return [*self.readiness(), *(_measure(look) for look in (self._git, self._provider))]

    def _ledger(self) -> Dependency:
        try:
            with self._context.reading() as view:
                size = view.head().size
        except CounterpointError as fault:
            return Dependency(name="ledger", grade="unhealthy", message=fault.message)
        return Dependency(
            name="ledger",
            grade="healthy",
            message="The ledger can be read",
            details={"entries": size},
        )

    def _specs(self) -> Dependency:
        try:
            folder = self._places.specs
        except PathOutside as fault:
            return Dependency(name="specs_directory", grade="unhealthy", message=fault.message)
        path = str(folder)
        if not folder.is_dir():
            words = "There is no folder: specs are in the ledger alone"
            return Dependency(
                name="specs_directory", grade="healthy", message=words, details={"path": path}
            )
        usable = os.access(folder, os.R_OK | os.W_OK | os.X_OK)
        return Dependency(
            name="specs_directory",
            grade="healthy" if usable else "unhealthy",
            message="The folder can be used" if usable else "The folder cannot be read and written",
            details={"path": path},
        )

    def _disk(self) -> Dependency:
        usage = shutil.disk_usage(self._places.home)
        free = round(usage.free / _MB, 1)
        return Dependency(
            name="disk_space",
            grade=grade_of_disk(free),
            message=f"{free} MB are free",
            details={
                "path": str(self._places.home),
                "free_mb": free,
                "total_mb": round(usage.total / _MB, 1),
                "threshold_mb": LEAST_FREE_MB,
            },
        )

    def _git(self) -> Dependency:
        if find_program("git") is None:
            return Dependency(name="git", grade="degraded", message="git is not on the PATH")
        if not (self._places.tree / ".git").exists():
            words = "The project is no git repository: changes of files are told by their content"
            return Dependency(name="git", grade="degraded", message=words)
        return Dependency(name="git", grade="healthy", message="The project is a git repository")

    def _provider(self) -> Dependency:
        try:
            providers = Askable(self._context).list_providers()
        except MalformedDocument as fault:
            return Dependency(name="ai_provider", grade="degraded", message=fault.message)
        if providers.first:
            names = ", ".join(provider.name for provider in providers.first)
            return Dependency(name="ai_provider", grade="healthy", message=f"Can be asked: {names}")
        away = "; ".join(
            f"{provider.name}: {provider.reason}" for provider in providers.every if provider.is_set
        )
        words = f"No AI provider can be asked: {away}" if away else "No AI provider is configured"
        return Dependency(name="ai_provider", grade="degraded", message=words)

    @property
    def _places(self) -> SpecsPlaces:
        return self._context.ports.get(SpecsPlaces)


def _measure(look: Callable[[], Dependency]) -> Dependency:
    began = time.perf_counter()
    dependency = look()
    return replace(dependency, latency_ms=round((time.perf_counter() - began) * 1000, 2))
