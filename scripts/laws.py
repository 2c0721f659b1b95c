"""Check the laws of the repository: `make laws`. Each file is read and parsed once.

A law is a function that yields a line for each fault, as `path:line what is wrong`; its docstring says what holds. Laws of
the code stand in `code_laws.py`, of programs that are started in `start_laws.py`, of all other files in
`file_laws.py`; the figures of `ratchets.toml` are compared in the same run. Exit 1 if anything is wrong.

    python scripts/laws.py [--root FOLDER] [LAW …]
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

from source_files import SourceFile, parse_file

ROOT = Path(__file__).parents[1]
PRODUCT = "src/counterpoint/"
TESTS = "tests/"


@dataclass(frozen=True)
class Repository:
    """A tree of files by their paths with slashes; what is read or parsed is kept."""

    root: Path
    names: tuple[str, ...]

    @cached_property
    def texts(self) -> dict[str, str]:
        """Return the text of each file."""
        return {
            name: (self.root / name).read_text("utf-8", errors="replace") for name in self.names
        }

    @cached_property
    def product(self) -> list[SourceFile]:
        """Return the modules of the product, by their paths below the package."""
        return self._modules(PRODUCT)

    @cached_property
    def tests(self) -> list[SourceFile]:
        """Return the modules of the tests, by their paths below tests/."""
        return self._modules(TESTS)

    def module(self, path: str) -> SourceFile:
        """Return a module of the product by its path; KeyError if there is none."""
        return self._by_path[path]

    @cached_property
    def _by_path(self) -> dict[str, SourceFile]:
        return {file.path: file for file in self.product}

    def _modules(self, top: str) -> list[SourceFile]:
        return [
            parse_file(self.texts[name], name.removeprefix(top))
            for name in self.names
            if name.startswith(top) and name.endswith(".py")
        ]


Law = Callable[[Repository], Iterator[str]]


def read_repository(root: Path) -> Repository:
    """Read what git tracks below a folder, or would track."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 -- found on the PATH, as make finds it
        cwd=root,
        capture_output=True,
        check=True,
    )
    names = sorted(set(listing.stdout.decode().split("\0")))
    return Repository(root, tuple(name for name in names if name and (root / name).is_file()))


def find_laws() -> dict[str, Law]:
    """Return every law by its name: the public functions with a docstring that take a repository alone."""
    import code_laws
    import file_laws
    import start_laws

    return {
        name: function
        for module in (code_laws, start_laws, file_laws)
        for name, function in _functions_of(module)
    }


def _functions_of(module: ModuleType) -> Iterator[tuple[str, Law]]:
    for name, function in vars(module).items():
        if getattr(function, "__annotations__", {}) == {
            "repository": "Repository",
            "return": "Iterator[str]",
        }:
            yield name, function


def find_faults(repository: Repository, laws: dict[str, Law]) -> Iterator[str]:
    """Yield each fault behind the name of its law."""
    for name, law in laws.items():
        for fault in law(repository):
            yield f"{name}: {fault}"


def main(arguments: list[str] | None = None) -> int:
    """Print what is wrong; return the exit code."""
    laws = find_laws()
    parser = argparse.ArgumentParser(description="Check the laws of the repository.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to look at")
    parser.add_argument("laws", nargs="*", help=f"some of: {', '.join(laws)}")
    options = parser.parse_args(arguments)
    if unknown := set(options.laws) - laws.keys():
        parser.error(f"no law is called {', '.join(sorted(unknown))}")
    chosen = {name: laws[name] for name in options.laws} or laws
    # Trees are kept until the end: to look again and again for what could go doubles the time.
    gc.disable()
    faults = list(find_faults(read_repository(options.root), chosen))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
