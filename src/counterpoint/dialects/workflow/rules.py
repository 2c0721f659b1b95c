"""What the evidence says of a task that ended: its scope, and warnings.

A renamed file is a deletion of its previous path and an addition of the present one.

Scope: (1) without areas everything is within; (2) else a path is within if and only if an area covers
it, as in `areas`; (3) the scope matches if and only if no path lies outside.

Warnings, in this order, each at most once for a cause:
1. those of the measurement;
2. paths outside the areas;
3. tests: told as failed; told as not run, or nothing told and nothing run, though code changed; told as
   passed though the server ran no command since the start;
4. each command whose last run since the start did not end with 0, unless told as failed;
5. packages told as added, though no manifest or lock file was added or changed. The reverse, a manifest
   changed without a word, is no warning: versions move for other reasons too;
6. sub-tasks that are open;
7. paths that lie in the areas of another running task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from counterpoint.core.model.evidence import FileChange
from counterpoint.core.model.journal import Receipt
from counterpoint.core.rules.areas import covers, outside
from counterpoint.core.rules.wording import few
from counterpoint.kernel.plurals import agree

Tests = Literal["passed", "failed", "not_run", ""]
"""What the worker says of the tests; empty if nothing."""


_CODE_ENDINGS = """
astro bash c cc clj cljs cpp cs css cu cxx dart elm erl ex exs f90 fs go gradle groovy h hh hpp hrl hs
html ipynb java jl js jsx kt kts less lisp lua m mjs cjs cts mts ml mli mm nim nix php pl pm prisma
proto ps1 py pyi pyx r rb rs sass scala scm scss sh sol sql svelte swift tf ts tsx v vb vue zig zsh
"""
_CODE = frozenset(_CODE_ENDINGS.split())
_PACKAGE_NAMES = """
package.json package-lock.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-workspace.yaml yarn.lock
bun.lock bun.lockb deno.json deno.jsonc deno.lock
pyproject.toml uv.lock poetry.lock pdm.lock pylock.toml pipfile pipfile.lock setup.py setup.cfg
environment.yml environment.yaml conda-lock.yml pixi.toml pixi.lock
cargo.toml cargo.lock go.mod go.sum go.work gemfile gemfile.lock gems.rb gems.locked
composer.json composer.lock pom.xml build.gradle build.gradle.kts gradle.lockfile build.sbt
deps.edn project.clj packages.config packages.lock.json directory.packages.props
pubspec.yaml pubspec.lock mix.exs mix.lock package.swift package.resolved podfile podfile.lock
cartfile cartfile.resolved flake.nix flake.lock module.bazel module.bazel.lock build.zig.zon
vcpkg.json conanfile.txt conanfile.py cpanfile cpanfile.snapshot renv.lock rebar.config rebar.lock
stack.yaml stack.yaml.lock project.toml manifest.toml
"""
_PACKAGE_FILES = frozenset(_PACKAGE_NAMES.split())
_PACKAGE_PATTERNS = (
    *("requirements*.txt", "requirements*.in", "constraints*.txt", "pylock.*.toml"),
    *("*.gemspec", "*.versions.toml", "*.csproj", "*.fsproj", "*.vbproj", "*.cabal"),
)
_PACKAGE_FOLDERS = ("requirements",)
"""Folders in which every text file names packages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesChanged:
    """The paths of a comparison by kind, each list in order."""

    added: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path: added, modified, deleted."""
        return (*self.added, *self.modified, *self.deleted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What is known of a task at its end.

    changes, measuring: the changes and the warnings of the comparison. receipts: of the task, made
    since its start, oldest first. open_subtasks: their names. others: the areas of each other running
    task, by its name.
    """

    changes: Sequence[FileChange]
    measuring: Sequence[str] = ()
    areas: Sequence[str] = ()
    tests: Tests = ""
    receipts: Sequence[Receipt] = ()
    packages_added: Sequence[str] = ()
    open_subtasks: Sequence[str] = ()
    others: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Whether the changes lie in the areas, which do not, and what a reviewer should know."""

    scope_match: bool
    unexpected_files: tuple[str, ...]
    warnings: tuple[str, ...]


def files_changed(changes: Iterable[FileChange]) -> FilesChanged:
    """Return the paths by kind; a rename is a deletion and an addition."""
    paths: dict[str, set[str]] = {"added": set(), "modified": set(), "deleted": set()}
    for change in changes:
        if change.kind == "renamed":
            paths["added"].add(change.path)
            paths["deleted"].add(change.previous)
        else:
            paths[change.kind].add(change.path)
    # Two files that changed names are both there before and after.
    both = paths["added"] & paths["deleted"]
    return FilesChanged(
        added=tuple(sorted(paths["added"] - both)),
        modified=tuple(sorted(paths["modified"] | both)),
        deleted=tuple(sorted(paths["deleted"] - both)),
    )


def verify_task(ended: Ended) -> Verification:
    """Return the verification of a task."""
    files = files_changed(ended.changes)
    unexpected = tuple(outside(ended.areas, files.paths)) if ended.areas else ()
    warnings = (
        *ended.measuring,
        *_of_scope(files, unexpected, ended.areas),
        *_of_tests(ended, files),
        *_of_runs(ended),
        *_of_packages(ended, files),
        *_of_subtasks(ended.open_subtasks),
        *_of_others(ended.others, files),
    )
    return Verification(
        scope_match=not unexpected,
        unexpected_files=unexpected,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def is_code(path: str) -> bool:
    """Return whether a path looks like code that tests could hold."""
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return bool(dot) and ending.lower() in _CODE


def names_packages(path: str) -> bool:
    """Return whether a path is a manifest or a lock file of a package system."""
    *folders, name = path.lower().split("/")
    if folders and folders[-1] in _PACKAGE_FOLDERS:
        return name.endswith((".txt", ".in"))
    return name in _PACKAGE_FILES or any(
        fnmatchcase(name, pattern) for pattern in _PACKAGE_PATTERNS
    )


def _of_scope(
    files: FilesChanged, unexpected: Sequence[str], areas: Sequence[str]
) -> Iterable[str]:
    if unexpected:
        yield (
            f"{len(unexpected)} of {agree(len(files.paths), 'changed file', 'lies')} outside the areas"
            f" ({few(areas)}): {few(unexpected)}"
        )


def _of_tests(ended: Ended, files: FilesChanged) -> Iterable[str]:
    code = [path for path in files.paths if is_code(path)]
    if ended.tests == "failed":
        yield "tests failed"
    elif ended.tests == "not_run" and code:
        yield f"tests were not run, though code changed: {few(code)}"
    elif ended.tests == "passed" and not ended.receipts:
        yield (
            "tests are said to have passed, but the server ran no command for this task since it began"
        )
    elif not ended.tests and code and not ended.receipts:
        yield f"nothing says whether tests were run, though code changed: {few(code)}"


def _of_runs(ended: Ended) -> Iterable[str]:
    if ended.tests == "failed":
        return
    last = {(receipt.folder, receipt.argv): receipt for receipt in ended.receipts}
    for receipt in last.values():
        if receipt.timed_out or receipt.exit_code:
            limit = receipt.ended_for
            how = f"was ended, as {limit}" if limit else f"gave {receipt.exit_code}"
            yield f"the last run of `{' '.join(receipt.argv)}` {how} ({receipt.id})"
            yield from receipt.remarks


def _of_packages(ended: Ended, files: FilesChanged) -> Iterable[str]:
    if ended.packages_added and not any(
        names_packages(path) for path in (*files.added, *files.modified)
    ):
        yield (
            f"packages are said to be added ({few(ended.packages_added)}), but no manifest or lock"
            " file changed"
        )


def _of_subtasks(names: Sequence[str]) -> Iterable[str]:
    if names:
        yield f"sub-tasks are still open: {few(names)}"


def _of_others(others: Mapping[str, Sequence[str]], files: FilesChanged) -> Iterable[str]:
    for name, areas in others.items():
        theirs = [path for path in files.paths if any(covers(area, path) for area in areas)]
        if theirs:
            yield f"files in the areas of {name}, which is running, changed: {few(theirs)}"
