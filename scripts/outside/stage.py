"""A throwaway repository with agents and a command line in it, and a record of what they hear."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from normal import Labels
from wire import Connection, Gone

DATE = "2026-01-02T03:04:05+00:00"
PATIENCE = 180
_LONGEST = 500
"""Characters of a call that stand in the name of its step."""
_HOST = re.compile(r"\b[0-9a-f]{8}-[0-9a-z]{26}\b")
_WHOLE = 6_000
"""Characters up to which the text of a written file is recorded."""
_KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")


class Agent:
    """An agent with a connection of its own."""

    def __init__(self, stage: Stage, name: str, *words: str) -> None:
        """Start the server with the words of a configuration, and shake hands."""
        self.name = name
        self._stage = stage
        command = [*stage.command, "mcp", "--agent", name, *stage.how, *words]
        self._connection = Connection(command, stage.folder, stage.environ)
        stage.step(f"{name} connects with {' '.join(words)}", self._greet)

    def _greet(self) -> Any:
        client = {"name": "outside", "version": "1"}
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        answer = self._connection.ask("initialize", asked)
        self._connection.send({"method": "notifications/initialized"})
        answer.get("result", {}).pop("serverInfo", None)
        return answer

    def ask(self, method: str, **params: Any) -> Any:
        """Record a request of the protocol and return its result."""
        name = f"{self.name} asks {method} {json.dumps(params) if params else ''}"
        answer = self._stage.step(name.strip(), lambda: self._connection.ask(method, params))
        return answer.get("result", {}) if isinstance(answer, dict) else {}

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Record a call of a tool and return what was answered, an empty object if nothing was."""
        asked = {"name": tool, "arguments": arguments}
        told = json.dumps(arguments, ensure_ascii=False)
        name = f"{self.name}: {tool} {told}"
        answer = self._stage.step(name, lambda: _plain(self._connection.ask("tools/call", asked)))
        return answer.get("answer") or {}

    def close(self) -> None:
        """End the connection and record how the server left."""
        self._stage.step(f"{self.name} leaves", self._connection.close)


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a tool without what is said twice."""
    result = answer.get("result")
    if not isinstance(result, dict) or "content" not in result:
        return answer
    plain = {"is_error": bool(result.pop("isError", False))}
    structured, content = result.pop("structuredContent", None), result.pop("content")
    plain["answer"] = structured
    with contextlib.suppress(ValueError, KeyError, IndexError):
        if json.loads(content[0]["text"]) == structured:
            content = content[1:]
    return plain | result | ({"content": content} if content else {})


class Stage:
    """The throwaway repository of one scene, and the steps that were recorded in it."""

    def __init__(self, checkout: Path, *how: str) -> None:
        """Make the repository; how: words that every server is started with."""
        self.how = how
        self.command = [str(checkout / ".venv" / "bin" / "counterpoint")]
        self._top = Path(tempfile.mkdtemp(prefix="outside-"))
        self.folder = self._top / "demo"
        home = self._top / "home"
        for made in (self.folder, home):
            made.mkdir()
        self.environ = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
            "HOME": str(home),
            "TZ": "UTC",
            "LANG": "C.UTF-8",
            "COLUMNS": "120",
            "NO_COLOR": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": DATE,
            "GIT_COMMITTER_DATE": DATE,
            "COUNTERPOINT_IDLE_MINUTES": "0",
        }
        self._labels = Labels(
            {str(self.folder): "<repo>", str(self._top): "<top>", str(checkout): "<checkout>"}
        )
        self._steps: dict[str, Any] = {}
        self._agents: list[Agent] = []
        self._make_repository()

    def __enter__(self) -> Self:
        """Give the stage."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the repository away."""
        shutil.rmtree(self._top, ignore_errors=True)

    def _make_repository(self) -> None:
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "ada@example.org")
        self.git("config", "user.name", "Ada")
        self.commit("readme.txt", "hello\n")

    def git(self, *words: str) -> str:
        """Run git in the repository and return what it said."""
        return self._run([shutil.which("git") or "git", *words]).stdout

    def commit(self, path: str, text: str) -> str:
        """Write a file, commit it, and return the commit."""
        self.write(path, text)
        self.git("add", path)
        self.git("commit", "-q", "-m", path)
        return self.git("rev-parse", "HEAD").strip()

    def write(self, path: str, text: str) -> None:
        """Write a file of the repository."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, "utf-8")

    def let_run(self) -> None:
        """Let agents have any command run, as a person says it; a checkout that asks nobody refuses the word, and runs them."""
        (self.folder / ".git/info/exclude").write_text("counterpoint.toml\n", "utf-8")
        self._run([*self.command, "trust", "--free"])

    def agent(self, name: str, *words: str) -> Agent:
        """Return an agent whose server was started with words."""
        made = Agent(self, name, *words)
        self._agents.append(made)
        return made

    def leave(self) -> None:
        """End every connection that is open."""
        while self._agents:
            self._agents.pop().close()

    def settle(self) -> None:
        """End the server that may still be about to leave, so that none is seen by chance."""
        self._run([*self.command, "down"])

    def say(self, *words: str) -> Any:
        """Record a command line and return what it printed, as JSON if it is that."""
        return self.step(f"$ counterpoint {' '.join(words)}", lambda: self._said(words))["out"]

    def _said(self, words: tuple[str, ...]) -> dict[str, Any]:
        ran = self._run([*self.command, *words])
        out: Any = ran.stdout.splitlines()
        with contextlib.suppress(ValueError):
            out = json.loads(ran.stdout)
        return {"exit": ran.returncode, "out": out, "err": ran.stderr.splitlines()}

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 -- git, and the checkout's own program
            words,
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def step(self, name: str, act: Callable[[], Any]) -> Any:
        """Do something, record what came of it under a name, and return it as it came."""
        try:
            came = act()
        except Gone:
            came = {"gone": True}
        title = self._labels.normal(name[:_LONGEST])
        number, key = 1, title
        while key in self._steps:
            number, key = number + 1, f"{title} #{number + 1}"
        self._steps[key] = self._labels.normal(json.loads(json.dumps(came)))
        return came

    def files(self) -> None:
        """Record every file that lies in the repository and at home: mode, and text if it is text."""
        found: dict[str, list[Any]] = {}
        for top in (self.folder, self._top / "home"):
            for path in sorted(top.rglob("*")):
                place = path.relative_to(self._top)
                if ".git" not in place.parts:
                    # Names made by chance have no order, so their files are told in one list.
                    found.setdefault(_HOST.sub("<host>", str(place)), []).append(_told(path))
        self.step("files", lambda: found)

    def steps(self) -> dict[str, Any]:
        """Return what was recorded."""
        return self._steps


def _told(path: Path) -> dict[str, Any]:
    """Return the mode of a file, and its text if it is short and one."""
    told: dict[str, Any] = {"mode": stat.filemode(path.lstat().st_mode)}
    if path.is_file() and path.stat().st_size <= _WHOLE and "keys" not in path.parts:
        with contextlib.suppress(UnicodeDecodeError):
            text = path.read_text("utf-8")
            told |= {} if "\0" in text else {"text": text.splitlines()}
    return told
