"""Plans as Markdown files in `.plans` of the folder of specs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from counterpoint.dialects.foundry.places import PLAN_REVIEWS, PLANS, is_below
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Conflict, InvalidInput, PathOutside

MOST: Final = 1_000
"""How many files of a folder are looked at."""
_SUFFIX: Final = ".md"
_FRESH: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    """A plan. path: from the folder of specs on. modified: in seconds since 1970. reviews: files of the same kind."""

    name: str
    path: str
    size_bytes: int
    modified: float
    reviews: tuple[str, ...]


def create_plan(home: Path, specs: Path, slug: str, text: str) -> str:
    """Write a plan that is not there yet; return its path from the folder of specs on. Conflict, PathOutside."""
    folder = _folder(home, specs, PLANS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / f"{slug}{_SUFFIX}", _FRESH, 0o644)
    except FileExistsError as fault:
        raise Conflict(
            f"there is a plan {slug!r} already",
            hint="Write in that file, or give the plan another name.",
            error_code="DUPLICATE_ENTRY",
        ) from fault
    except OSError as fault:
        raise InvalidInput(f"the plan {slug!r} cannot be written: {fault.strerror}") from fault
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return f"{PLANS}/{slug}{_SUFFIX}"


def list_plans(home: Path, specs: Path) -> list[PlanFile]:
    """Return every plan by name; PathOutside, InvalidInput if there are too many."""
    reviews = [path.name for path in _files(_folder(home, specs, PLAN_REVIEWS))]
    files: list[PlanFile] = []
    for path in _files(_folder(home, specs, PLANS)):
        status = path.stat()
        own = (name for name in reviews if name.startswith(f"{path.stem}-"))
        files.append(
            PlanFile(
                name=path.stem,
                path=f"{PLANS}/{path.name}",
                size_bytes=status.st_size,
                modified=round(status.st_mtime, 3),
                reviews=tuple(f"{PLAN_REVIEWS}/{name}" for name in own),
            )
        )
    return files


def skeleton(name: str, day: Timestamp) -> str:
    """Return the text that a plan begins with."""
    parts = (
        ("Mission", "What is different when this is done, in a sentence."),
        ("Objectives", "- "),
        ("Success criteria", "- [ ] "),
        ("Constraints", "- "),
        ("Assumptions", "- "),
        ("Risks", "- Risk: … Likelihood: … Impact: … Mitigation: …"),
        ("Open questions", "- "),
        ("Phases", "### Phase 1: …\n\n- Task: … File: … Acceptance: …"),
    )
    sections = "\n".join(f"## {title}\n\n{text}\n" for title, text in parts)
    return f"# {name}\n\nDate: {day[:10]}\n\n{sections}"


def _folder(home: Path, specs: Path, name: str) -> Path:
    folder = specs / name
    if not is_below(home, folder):
        raise PathOutside(f"`{name}` in the folder of specs leads outside the project")
    return folder


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder by name; a link may lead anywhere, and is none."""
    if not folder.is_dir():
        return []
    every = sorted(path for path in folder.iterdir() if path.suffix == _SUFFIX)
    if len(every) > MOST:
        raise InvalidInput(
            f"`{folder.name}` has more than {MOST} files", hint="Move old ones elsewhere."
        )
    return [path for path in every if path.is_file() and not path.is_symlink()]
