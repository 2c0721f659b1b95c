"""Runs the commands that README and docs/ show, each page in a repository and home of its own, from the built wheel.

    python scripts/snippets.py [PAGE …]            in an environment that is made from the wheel
    python scripts/snippets.py --here [PAGE …]     with the program of this environment

A fence `sh` has commands, a fence `console` commands behind `$` with what they print, where `…` stands for anything. What a page
needs before, what stands for its placeholders, and what is not run, with the reason, is said in snippets.toml beside this file.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
RULES: Final = Path(__file__).with_suffix(".toml")
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<sort>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_PATIENCE: Final = 40
_TOOLS: Final = """
    awk basename bash cat chmod cp curl cut date dirname env false find git grep head id install ln ls mkdir mktemp mv printf
    ps python3 readlink rm sed sh sleep sort tail tee test touch tr true uname wc xargs
    """
"""All that a page may call beside the program: git, Python, and what nearly every system has."""


class Differs(Exception):
    """A page shows something else than what happens."""


@dataclass(frozen=True)
class Fence:
    """One fenced block of a page."""

    page: str
    line: int
    sort: str
    text: str

    def __str__(self) -> str:
        """Name it by its place."""
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command that a page shows, with what it prints if that is shown too."""

    line: int
    text: str
    prints: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Step:
    """What snippets.toml says of the commands that begin with some words."""

    shown: str
    reason: str = ""
    before: tuple[str, ...] = ()
    instead: str = ""
    exit: int = 0
    typed: tuple[tuple[str, str], ...] = ()
    terminal: bool = False
    until: str = ""


@dataclass(frozen=True)
class Page:
    """What snippets.toml says of a page: what is there before, and how its commands are run."""

    folder: str = "harbour"
    files: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    plans: str = ""
    steps: tuple[Step, ...] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""

    def step(self, command: str) -> Step:
        """Return what is said of a command: the longest beginning counts; without any it is run as it stands."""
        found = [step for step in self.steps if command.startswith(step.shown)]
        return max(found, key=lambda step: len(step.shown), default=Step(shown=""))


def fences(page: Path) -> Iterator[Fence]:
    """Yield the fenced blocks of a page."""
    text = page.read_text("utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        inner = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
        yield Fence(page.relative_to(ROOT).as_posix(), line, found["sort"].strip(), inner)


def commands(fence: Fence) -> Iterator[Command]:
    """Yield the commands of a fence `sh` or `console`; of any other there are none."""
    if fence.sort == "sh":
        yield from _commands_of_a_script(fence)
    if fence.sort == "console":
        yield from _commands_with_output(fence)


def _commands_of_a_script(fence: Fence) -> Iterator[Command]:
    begun = ""
    for number, line in enumerate(fence.text.splitlines(), fence.line + 1):
        begun = f"{begun}{line}\n"
        if line.endswith("\\"):
            continue
        if begun.strip() and not begun.lstrip().startswith("#"):
            yield Command(number, begun.strip())
        begun = ""


def _commands_with_output(fence: Fence) -> Iterator[Command]:
    for part in re.split(r"^\$ ", fence.text, flags=re.MULTILINE)[1:]:
        command, *said = part.splitlines()
        yield Command(fence.line, command, tuple(said))


def rules() -> dict[str, Page]:
    """Return what snippets.toml says, by page."""
    told = tomllib.loads(RULES.read_text("utf-8"))
    scenes: dict[str, Any] = told.get("scenes", {})
    pages: dict[str, Page] = {}
    for name, given in told["pages"].items():
        scene = scenes.get(given.pop("scene", ""), {})
        steps = tuple(
            Step(
                **{
                    **step,
                    "before": tuple(step.get("before", ())),
                    "typed": tuple(map(tuple, step.get("typed", ()))),
                }
            )
            for step in given.pop("steps", ())
        )
        before = (*scene.get("before", ()), *given.pop("before", ()))
        both = {**scene, **given, "files": {**scene.get("files", {}), **given.get("files", {})}}
        pages[name] = Page(**{**both, "before": before, "steps": steps})
    return pages


def matches(shown: tuple[str, ...], said: str) -> bool:
    """Tell whether an output is as shown: `…` stands for anything, on a line of its own for any lines."""
    lines = [".*" if line.strip() == "…" else _pattern(line) for line in shown if line.strip()]
    told = "\n".join(line.rstrip() for line in said.splitlines() if line.strip())
    return re.fullmatch("\n".join(lines), told, re.DOTALL) is not None


def _pattern(line: str) -> str:
    return "[^\n]*".join(re.escape(part) for part in line.rstrip().split("…"))


class Stage:
    """A repository, a home and a PATH for one page."""

    def __init__(self, page: Page, programs: Path, top: Path) -> None:
        self.page = page
        self.folder, home, tools = top / page.folder, top / "home", top / "tools"
        for place in (self.folder, home, tools):
            place.mkdir(parents=True)
        for name in _TOOLS.split():
            found = shutil.which(name)
            if found is not None:
                (tools / name).symlink_to(found)
        self.environ = {
            "HOME": str(home),
            "PATH": f"{programs}{os.pathsep}{tools}",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": str(top),
            "COUNTERPOINT_IDLE_MINUTES": "0",
            "AGENT": str(ROOT / "scripts" / "agent.py"),
        }
        self.kept: list[subprocess.Popen[bytes]] = []
        (home / ".gitconfig").write_text(
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
        )

    def set_up(self) -> None:
        """Make what the page takes to be there."""
        self._run("git init -q && git commit -q --allow-empty -m 'Begin'", Step(shown=""))
        for name, text in self.page.files.items():
            place = self.folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        for command in self.page.before:
            self._run(command, Step(shown=""))

    def play(self, command: Command, step: Step) -> None:
        """Run one command as its step says. Differs."""
        for earlier in step.before:
            self._run(earlier, Step(shown=""))
        text = step.instead or command.text
        for word, meant in self.page.words.items():
            text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", lambda _, m=meant: m, text)
        is_kept = step.until and not step.terminal
        said = self._wait(text, step) if is_kept else self._run(text, step)
        if command.prints is not None and not matches(command.prints, said):
            raise Differs(
                f"`{text}` prints\n{said}\nand the page shows\n" + "\n".join(command.prints)
            )
        # What is exported counts for the rest of the page, and so does another folder.
        if found := re.fullmatch(r"export (\w+)=(\S+)(?:\s+#.*)?", text):
            self.environ[found[1]] = found[2].strip("'\"")
        if found := re.fullmatch(r"cd (\S+)", text):
            self.folder /= found[1]

    def _run(self, text: str, step: Step) -> str:
        if step.terminal or step.typed:
            code, said = self._at_a_terminal(text, step)
        else:
            done = subprocess.run(  # noqa: S603 -- what the pages show
                ["/bin/sh", "-c", text], cwd=self.folder, env=self.environ, stdin=subprocess.DEVNULL, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_PATIENCE, start_new_session=True,
            )  # fmt: skip
            code, said = done.returncode, done.stdout
        if code != step.exit:
            raise Differs(f"`{text}` ended with {code}:\n{said}")
        return said

    def _at_a_terminal(self, text: str, step: Step) -> tuple[int, str]:
        """Run a command at a terminal and answer what is asked there; return its exit code and what is seen."""
        child, screen = pty.fork()
        if not child:
            os.chdir(self.folder)
            words = ["/bin/sh", "-c", f"exec {text}"]
            environ = {**self.environ, "TERM": "xterm"}
            os.execve(words[0], words, environ)  # noqa: S606 -- a page's own command
        seen, read, asked = "", 0, list(step.typed)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if select.select([screen], [], [], 1)[0]:
                try:
                    seen += os.read(screen, 65536).decode(errors="replace")
                except OSError:  # how a terminal says that nobody is at it any more
                    break
            if asked and asked[0][0] in seen[read:]:
                read = len(seen)
                os.write(screen, asked.pop(0)[1].encode() + b"\n")
            if step.until and step.until in seen:
                break
        else:
            seen += "\n(it went on)"
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL if time.monotonic() > until or step.until else 0)
        _, status = os.waitpid(child, 0)
        os.close(screen)
        return (0 if step.until else os.waitstatus_to_exitcode(status)), seen

    def _wait(self, text: str, step: Step) -> str:
        """Start what goes on until somebody ends it, and wait until it has said what is waited for."""
        said = self.folder.parent / f"said-{len(self.kept)}"
        with said.open("wb") as out:
            started = subprocess.Popen(  # noqa: S603 -- what the pages show
                ["/bin/sh", "-c", f"exec {text}"], cwd=self.folder, env=self.environ, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.kept.append(started)
        until = time.monotonic() + _PATIENCE
        while step.until not in (seen := said.read_text("utf-8", errors="replace")):
            if started.poll() is not None or time.monotonic() > until:
                raise Differs(f"`{text}` never said {step.until!r}:\n{seen}")
            time.sleep(0.05)
        return seen

    def clear(self) -> None:
        """End what goes on still."""
        for started in self.kept:
            if started.poll() is None:
                started.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    started.wait(20)
            if started.poll() is None:
                started.kill()
                started.wait()


def play(name: str, page: Page, programs: Path, top: Path) -> tuple[int, int]:
    """Run the commands of a page; answer how many were run and how many were left. Differs."""
    shown = [(fence, one) for fence in fences(ROOT / name) for one in commands(fence)]
    ran = 0
    stage = Stage(page, programs, top)
    try:
        if any(not (page.reason or page.step(one.text).reason) for _, one in shown):
            stage.set_up()
        made: set[int] = set()
        for fence in fences(ROOT / name):
            if page.plans and fence.sort == "markdown" and fence.line not in made:
                made.add(fence.line)
                (stage.folder / page.plans).write_text(fence.text, "utf-8")
            for command in commands(fence):
                step = page.step(command.text)
                if page.reason or step.reason:
                    continue
                try:
                    stage.play(command, step)
                except (Differs, subprocess.TimeoutExpired) as fault:
                    raise Differs(f"{name}:{command.line}: {fault}") from fault
                ran += 1
    finally:
        stage.clear()
    return ran, len(shown) - ran


def _from_wheel(folder: Path) -> Path:
    """Return the folder of programs of an environment that has the wheel and what it needs, no more."""
    import release

    wheel = release.build(ROOT, folder / "wheel", "wheel", dict(os.environ))
    return release.install(wheel, folder / "environment")


def main(words: list[str]) -> int:
    """Run the pages that are named, or all; answer 1 if one of them differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("pages", nargs="*")
    given = parser.parse_args(words)
    told, wrong = rules(), 0
    names = [page.relative_to(ROOT).as_posix() for page in PAGES]
    with tempfile.TemporaryDirectory(prefix="pages-") as made:
        top = Path(made)
        programs = Path(sys.executable).parent if given.here else _from_wheel(top)
        for number, name in enumerate(given.pages or names):
            if not any(list(commands(fence)) for fence in fences(ROOT / name)):
                continue
            try:
                ran, left = play(name, told.get(name, Page()), programs, top / str(number))
            except Differs as fault:
                print(fault, file=sys.stderr)
                wrong += 1
                continue
            print(f"{name:40} {ran:3} run{f', {left} not' if left else ''}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
