"""What the agents of the demonstration know: the plan, and how each task is done.

The files of `pieces/` are read as follows. `# Title` opens the recipe of the task with that title;
`kind: text` is a note to write; `hand in: path` names the file to submit the task's phase with;
`## path` and the fenced block below it are a file to write; `## path, first try` is what is
written before, and fails.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from importlib.resources import files

FIRST_TRY = ", first try"
HAND_IN = "hand in"

_FENCE = "```"
_PARTS = ("words.md", "shapes.md", "release.md")


@dataclass(slots=True, kw_only=True)
class Recipe:
    """How one task is done.

    first_try: files of the attempt that fails; empty where the first one succeeds.
    files: files as they must be. notes: kind and text of what is worth keeping.
    hands_in: the file that shows that the whole phase is finished, or empty.
    """

    title: str
    first_try: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    hands_in: str = ""

    @property
    def attempts(self) -> list[dict[str, str]]:
        """What to write, attempt by attempt."""
        return [attempt for attempt in (self.first_try, self.files) if attempt]

    @property
    def first_half(self) -> tuple[str, str]:
        """Return a file that was only begun: its path and its upper half."""
        path, text = next(iter(self.attempts[0].items()))
        lines = text.splitlines(keepends=True)
        return path, "".join(lines[: len(lines) // 2])


def load_plan(python: str) -> str:
    """Return the Markdown of the plan, with the interpreter that its checks run."""
    return _piece("plan.md").replace("{python}", shlex.quote(python))


def load_recipes() -> dict[str, Recipe]:
    """Return every recipe by the title of its task."""
    recipes = [recipe for part in _PARTS for recipe in _recipes(_piece(part))]
    return {recipe.title: recipe for recipe in recipes}


def _piece(name: str) -> str:
    return files(__package__).joinpath("pieces", name).read_text(encoding="utf-8")


def _recipes(text: str) -> list[Recipe]:
    recipes: list[Recipe] = []
    path, is_inside = "", False
    block: list[str] = []
    for line in text.splitlines():
        if line == _FENCE:
            if is_inside:
                _keep(recipes[-1], path, "\n".join([*block, ""]))
            is_inside, block = not is_inside, []
        elif is_inside:
            block.append(line)
        elif line.startswith("## "):
            path = line[3:]
        elif line.startswith("# "):
            recipes.append(Recipe(title=line[2:]))
        else:
            _note(recipes[-1], line)
    return recipes


def _keep(recipe: Recipe, path: str, text: str) -> None:
    """Add a file to the attempt that it belongs to."""
    files = recipe.first_try if path.endswith(FIRST_TRY) else recipe.files
    files[path.removesuffix(FIRST_TRY)] = text


def _note(recipe: Recipe, line: str) -> None:
    word, _, text = line.partition(": ")
    if word == HAND_IN:
        recipe.hands_in = text
    else:
        recipe.notes.append((word, text))
