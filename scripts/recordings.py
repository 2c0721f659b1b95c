"""Records what terminals show of the program: one drawing (SVG) for each scene, in docs/recordings, and one that moves.

    python scripts/recordings.py

Each command is typed at a terminal of its own, in a repository where three agents without a model (agent.py) work the
plan of the walk; what is drawn is what it printed. What moves (loop.svg) shows some of that one after the other, and the
board as `make screenshots` saw it (review.png). Where a scene no longer says what `_SAYS` has, nothing is drawn. `make recordings`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Final

import snippets
import walk
from agent import Agent, Refused
from rich.console import Console
from rich.text import Text

TARGET: Final = snippets.ROOT / "docs" / "recordings"
_WIDTH: Final = 100
_TITLE: Final = 30
_SECONDS: Final = 4
"""How long a scene of what moves is seen."""
_SAYS: Final = {
    "take": (
        "greetings-11 Say goodbye in English",
        "greetings-13 Say goodbye in German",
        "is held by ada",
    ),
    "held": ("greetings-11", "ada", "min left"),
    "verify": ("Sound: ",),
}
"""What a scene is there to show; the README says so too."""
_FILM: Final = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.scene {{ visibility: hidden; animation: scene {whole}s step-end infinite }}
@keyframes scene {{ 0% {{ visibility: visible }} {share}% {{ visibility: hidden }} }}
{delays}
@media (prefers-reduced-motion: reduce) {{ .scene {{ animation: none }} .scene-{last} {{ visibility: visible }} }}
</style>
<rect fill="#1c1c1c" width="{width}" height="{height}" rx="8"/>
{scenes}
</svg>
"""
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
        prompt, _, words = command.rpartition("> ")
        console.print(
            Text.assemble((f"{prompt}> " if prompt else "$ ", "bold green"), (words, "bold"))
        )
        console.print(Text.from_ansi(said.replace("\r\n", "\n").rstrip()))
    console.print()  # room below the last line, which would lose its descenders
    text = console.export_svg(title="", code_format=_FORMAT, unique_id=name)
    # Rich leaves room for the title of a window.
    text = re.sub(r'viewBox="0 0 (\S+) (\S+)"', _without_title, text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def film(drawings: Sequence[str], picture: bytes) -> str:
    """Return drawings one after the other as one that moves, and a picture (PNG) as the last."""
    sizes = [re.findall(r'viewBox="\S+ \S+ (\S+) (\S+)"', text)[0] for text in drawings]
    width, height = (max(float(size[axis]) for size in sizes) for axis in (0, 1))
    scenes = [
        text.replace("<svg ", f'<svg x="0" y="0" width="{width:g}" height="{height:g}" preserveAspectRatio="xMinYMin" ', 1)
        for text in drawings
    ]  # fmt: skip
    encoded = b64encode(picture).decode()
    scenes.append(
        f'<image width="{width:g}" height="{height:g}" preserveAspectRatio="xMidYMin slice" href="data:image/png;base64,{encoded}"/>'
    )
    numbers = range(len(scenes))
    return _FILM.format(
        width=f"{width:g}",
        height=f"{height:g}",
        whole=len(scenes) * _SECONDS,
        share=f"{100 / len(scenes):g}",
        delays="\n".join(f".scene-{n} {{ animation-delay: {n * _SECONDS}s }}" for n in numbers),
        last=numbers[-1],
        scenes="\n".join(f'<g class="scene scene-{n}">{scenes[n]}</g>' for n in numbers),
    )


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

    def does(self, command: str, code: int = 0) -> str:
        """Run a command that is not shown, and return what it printed. Differs."""
        return self._run(command, snippets.Step(shown="", exit=code))

    def work(self, agent: str, *calls: str) -> None:
        """Have an agent make calls. Differs."""
        self.does(f"python3 $AGENT {agent} {' '.join(map(shlex.quote, calls))}")

    def call(self, agent: Agent, name: str, tool: str, **arguments: object) -> tuple[str, str]:
        """Have a connected agent make one call; return it, and the words of its answer or refusal."""
        try:
            answer = agent.does(tool, **arguments)
            said = f"{answer['item']['id']} {answer['item']['title']}"
        except Refused as fault:
            said = json.loads(str(fault))["message"]
        shown = " ".join(
            [tool, *(f"{key}: {json.dumps(value)}" for key, value in arguments.items())]
        )
        return f"{name}> {shown}", said

    def claim(self) -> dict[str, list[tuple[str, str]]]:
        """Play three agents that take tasks, and one that wants one of them; all are connected meanwhile."""
        agents = {
            name: Agent(name, self.folder, self.environ)
            for name in ("ada", "grace", "linus", "edsger")
        }
        try:
            takes = [
                self.call(agents[name], name, "next", claim=True)
                for name in ("ada", "grace", "linus")
            ]
            takes.append(self.call(agents["edsger"], "edsger", "start", id="greetings-11"))
            return {"take": takes, "held": self.types("counterpoint status")}
        finally:
            for agent in agents.values():
                agent.leaves()


def scenes(there: Terminal) -> dict[str, list[tuple[str, str]]]:
    """Play every scene in turn; answer what each shows."""
    found = {
        "plan": there.types(
            "counterpoint plan PLAN.md --dry-run", "counterpoint plan PLAN.md", "counterpoint next"
        )
    }
    (there.folder / "BYE.md").write_text(
        walk.PLAN.replace("Greet the world", "Say goodbye")
        .replace("Greet", "Say goodbye")
        .replace("areas: ", "areas: bye/"),
        "utf-8",
    )
    there.does("counterpoint plan BYE.md")
    there.does('counterpoint trust --allow "grep -rq hello said"')
    note = '["note", {"id": "$item", "kind": "decision", "text": "We say hello in lower case"}]'
    there.work("ada", *walk.TAKE, note, *walk.WORK)
    there.work("grace", *walk.TAKE, *walk.WORK)
    there.work("linus", *walk.TAKE)
    found["status"] = there.types("counterpoint status", "counterpoint log --limit 8")
    found["verify"] = there.types("counterpoint audit verify")
    return found | there.claim()


def draw(found: Mapping[str, Sequence[tuple[str, str]]], folder: str) -> dict[str, str]:
    """Return the drawing of each scene, without the folder it was played in. Differs where one no longer says what it should."""
    drawings: dict[str, str] = {}
    for name, shown in found.items():
        said = "\n".join(said for _, said in shown)
        for words in _SAYS.get(name, ()):
            if words not in said:
                raise snippets.Differs(f"the scene {name} does not say `{words}`:\n{said}")
        text = drawing(shown, name)
        drawings[name] = text.replace(os.path.realpath(folder), "").replace(folder, "")
    return drawings


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
            drawings = draw(scenes(there), made)
            picture = (TARGET / "review.png").read_bytes()
            drawings["loop"] = film(
                [drawings.pop("take"), drawings.pop("held"), drawings["verify"]], picture
            )
            for name, text in drawings.items():
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
