"""Records what terminals show of the program: one drawing (SVG) for each scene, in docs/recordings.

    python scripts/recordings.py

Each command is typed at a terminal of its own, in a repository where three agents without a model (agent.py) work the
plan of the walk; what is drawn is what it printed. `make recordings`.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Final

import snippets
import walk
from rich.console import Console
from rich.text import Text

TARGET: Final = snippets.ROOT / "docs" / "recordings"
_WIDTH: Final = 100
_TITLE: Final = 30
_FORMAT: Final = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" xml:space="preserve">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; white-space: pre; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
<rect fill="#1c1c1c" x="0" y="30" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""What Rich draws, without the window around it and without the font that it would fetch."""


def drawing(shown: Sequence[tuple[str, str]], name: str) -> str:
    """Return commands and what they printed as one SVG."""
    console = Console(
        record=True, width=_WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor"
    )
    for command, said in shown:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(said.replace("\r\n", "\n").rstrip()))
    text = console.export_svg(title="", code_format=_FORMAT, unique_id=name)
    # Rich leaves room for the title of a window.
    text = re.sub(r'viewBox="0 0 (\S+) (\S+)"', _without_title, text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _without_title(found: re.Match[str]) -> str:
    return f'viewBox="0 {_TITLE} {found[1]} {float(found[2]) - _TITLE:g}"'


class Terminal(snippets.Stage):
    """A stage whose commands are typed at a terminal."""

    def types(self, *commands: str) -> list[tuple[str, str]]:
        """Run commands at a terminal; answer each with what it printed. Differs."""
        shown: list[tuple[str, str]] = []
        for command in commands:
            sized = f"/bin/stty cols {_WIDTH} rows 60; {command}"
            code, said = self._at_a_terminal(
                f"/bin/sh -c {shlex.quote(sized)}", snippets.Step(shown=command, terminal=True)
            )
            if code:
                raise snippets.Differs(f"`{command}` ended with {code}:\n{said}")
            shown.append((command, said))
        return shown

    def does(self, command: str) -> None:
        """Run a command that is not shown. Differs."""
        self._run(command, snippets.Step(shown=""))

    def work(self, agent: str, *calls: str) -> None:
        """Have an agent make calls. Differs."""
        self.does(f"python3 $AGENT {agent} {' '.join(map(shlex.quote, calls))}")


def scenes(there: Terminal) -> dict[str, list[tuple[str, str]]]:
    """Play every scene in turn; answer what each shows."""
    found = {
        "plan": there.types(
            "counterpoint plan PLAN.md --dry-run", "counterpoint plan PLAN.md", "counterpoint next"
        )
    }
    there.does('counterpoint trust --allow "grep -rq hello said"')
    note = '["note", {"id": "$item", "kind": "decision", "text": "We say hello in lower case"}]'
    there.work("ada", *walk.TAKE, note, *walk.WORK)
    there.work("grace", *walk.TAKE, *walk.WORK)
    there.work("linus", *walk.TAKE)
    found["status"] = there.types("counterpoint status", "counterpoint log --limit 8")
    found["verify"] = there.types("counterpoint audit verify")
    return found


def main() -> int:
    """Write every drawing; 1 where a command fails."""
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="record-") as made:
        page = snippets.Page(
            folder="greetings", files={"PLAN.md": walk.PLAN}, before=("counterpoint init --yes --client claude",)
        )  # fmt: skip
        there = Terminal(page, Path(sys.executable).parent, Path(made))
        there.environ["COUNTERPOINT_PAGER"] = "cat"
        try:
            there.set_up()
            for name, shown in scenes(there).items():
                text = drawing(shown, name).replace(os.path.realpath(made), "").replace(made, "")
                (TARGET / f"{name}.svg").write_text(text, "utf-8")
                print(f"docs/recordings/{name}.svg {len(text.encode()):,} bytes")
        except snippets.Differs as fault:
            print(fault, file=sys.stderr)
            return 1
        finally:
            there.clear()
    return 0


if __name__ == "__main__":
    sys.exit(main())
