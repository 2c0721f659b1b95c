"""A folder full of hostile modules, programs and settings: no command starts anything out of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from counterpoint.cli.grouping import cli

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

MODULES = (
    *("counterpoint", "click", "orjson", "apsw", "mcp", "anyio", "pydantic", "rich", "uvicorn", "jwt"),
    *("sitecustomize", "usercustomize", "re", "json", "subprocess", "inspect", "secrets", "ipaddress"),
    *("typing", "dataclasses", "pathlib", "shutil", "tempfile", "asyncio", "logging", "tomllib"),
)  # fmt: skip
PROGRAMS = (
    *("git", "ssh-keygen", "ssh", "ssh-agent", "gpg", "less", "more", "cat", "pager", "sh", "bash", "env"),
    *("python", "python3", "pip", "uv", "uvx", "node", "npm", "npx", "make", "pytest", "ruff", "mypy"),
    *("counterpoint", "claude", "codex", "gemini", "cursor", "cursor-agent", "code", "opencode", "goose"),
    *("crush", "amp", "aider", "ollama", "bwrap", "unshare", "sandbox-exec", "systemd-run", "prlimit"),
    *("nice", "taskset", "docker", "podman", "secret-tool", "security", "keyring", "pdftotext", "pgrep"),
    *("ps", "lsof", "tty", "stty", "tput", "xdg-open", "vi", "nano", "editor", "curl", "gh", "hostname"),
)  # fmt: skip
"""Every name that this program looks for, those of clients and of what git starts among them."""
HOOKS = ("post-checkout", "post-commit", "post-index-change", "pre-commit", "reference-transaction")
GIT_KEYS = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askpass", "core.gitProxy"),
    *("sequence.editor", "diff.external", "diff.hostile.textconv", "diff.hostile.command"),
    *("filter.hostile.clean", "filter.hostile.smudge", "filter.hostile.process", "merge.hostile.driver"),
    *("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "credential.helper"),
    *("pager.log", "pager.diff", "pager.show", "pager.status", "core.alternateRefsCommand"),
    *("uploadpack.packObjectsHook", "interactive.diffFilter", "log.showSignature"),
)  # fmt: skip
SETTINGS = """\
[checks]
commands = ["evil", "make", "git"]

[models]
order = ["evil"]

[models.providers.evil]
command = ["{evil}", "{{text}}"]

[web.search.evil]
command = ["{evil}"]
"""
VARIABLES = (
    "PAGER",
    "GIT_PAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH_COMMAND",
    "BROWSER",
)

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "help": ("plan",),
    "completion": ("bash",),
    "init": ("--dry-run",),
    "plan": ("plan.md", "--dry-run"),
    "add": ("Work", "--check", "evil"),
    "edit": ("TASK", "--title", "New"),
    "note": ("words", "--kind", "finding"),
    "import foundry": (),
    "show": ("TASK",),
    "diff": ("TASK",),
    "find": ("work",),
    "start": ("TASK",),
    "check": ("TASK",),
    "finish": ("TASK", "--summary", "x"),
    "release": ("TASK",),
    "unblock": ("TASK",),
    "supervise": ("TASK", "claude"),
    "submit": ("PHASE",),
    "approve": ("PHASE",),
    "reject": ("PHASE", "--reason", "x"),
    "waive": ("PHASE", "tests", "--reason", "x"),
    "reopen": ("PHASE",),
    "mcp": ("--in-process",),
    "up": ("--port", "0"),
    "board": ("--no-open",),
    "serve": ("--socket", "hostile.sock"),
    "agent create": ("ada",),
    "agent renew": ("ada",),
    "agent revoke": ("ada",),
    "token create": ("bob",),
    "token renew": ("bob",),
    "token revoke": ("bob",),
    "provider login": ("evil",),
    "provider logout": ("evil",),
    "provider status": ("evil",),
    "provider test": ("evil",),
    "profile set": ("judge", "--deny", "verify"),
    "profile tools": ("judge",),
    "audit epoch": ("--reason", "x"),
    "audit redact": ("TASK", "--reason", "x"),
    "audit trailer": ("--install",),
    "audit prove": ("1",),
    "verify": ("plan.md",),
    "key recover": ("--reason", "x"),
    "key revoke": ("x", "--reason", "x"),
    "key add": ("--name", "x"),
    "policy": ("--reviews", "declared"),
    "signer": ("--place", "hostile-signer"),
    "witness": ("--state", "hostile-state", "--log", "plan.md"),
    "backup": ("copy.db",),
    "restore": ("plan.md", "--yes"),
    "storage move": ("one.db", "two.db"),
    "plans prune": ("--older-than", "1", "--yes"),
    "learning find": ("x",),
    "learning judge": ("x", "--verified"),
    "vault add": ("plan.md",),
    "vault remove": ("plan.md",),
    "runs ingest": ("plan.md",),
    "issue size": ("TASK", "small"),
    "workspace open": ("TASK",),
    "event": ("--hook", "claude-code"),
    "listings": ("listings.json",),
    **{
        f"import {name}": ("plan.md", "--dry-run")
        for name in ("backlog", "beads", "counterpoint", "github", "linear", "markdown")
    },
    **{
        f"import {name}": ("plan.md", "--dry-run")
        for name in ("openspec", "spec-kit", "task-master", "vibe-kanban")
    },
}
"""With what a command is run whose words must be more than its name."""
LONG = {
    *("demo", "up", "serve", "board"),
    *(name for name in ARGUMENTS if name.startswith("import ") and name != "import foundry"),
    *("agent renew", "agent revoke", "token create", "token renew", "token revoke"),
}
"""Those that serve or play for some seconds, and those that look for nothing that one of their group does not."""


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        assert child is not None
        yield from _commands(child, (*path, name))


class HostileFolder(NamedTuple):
    """A repository that would run code, the variables of a careless shell, and where code leaves its mark."""

    tree: Path
    environ: dict[str, str]
    marks: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command as it is installed; one that goes on by itself is ended with all it has started."""
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("counterpoint")), *words],
            cwd=self.tree,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=20 if words[0] == "demo" else 6)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def marked(self) -> list[str]:
        """Return the names of what has been run, and forget them."""
        names = sorted(path.name for path in self.marks.iterdir())
        for name in names:
            (self.marks / name).unlink()
        return names


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileFolder]:
    """Give a project, set up before anything hostile came into its folder."""
    top = tmp_path_factory.mktemp("hostile")
    tree, marks, home = top / "tree", top / "marks", top / "home"
    for folder in (tree, marks, home):
        folder.mkdir()
    environ = {
        name: text for name, text in os.environ.items() if name in {"PATH", "LANG", "TMPDIR"}
    }
    environ |= {"HOME": str(home), "COUNTERPOINT_IDLE_MINUTES": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    folder = HostileFolder(tree, environ, marks)
    for words in (["init", "-q", "-b", "main"], ["config", "user.email", "ada@example.org"]):
        subprocess.run(["git", *words], cwd=tree, env=environ, check=True)
    subprocess.run(["git", "config", "user.name", "Ada"], cwd=tree, env=environ, check=True)
    (tree / "plan.md").write_text("# Plan\n## Phase\n- review: yes\n- [ ] Task\n")
    subprocess.run(["git", "add", "."], cwd=tree, env=environ, check=True)
    subprocess.run(["git", "commit", "-qm", "first"], cwd=tree, env=environ, check=True)
    assert folder.run("init", "--yes").returncode == 0
    assert folder.run("plan", "plan.md").returncode == 0
    _fill(folder)
    yield HostileFolder(
        tree,
        environ
        | {"PATH": os.pathsep.join([str(tree / "bin"), str(tree), "", ".", environ["PATH"]])},
        marks,
    )
    folder.run("down")


def _fill(hostile: HostileFolder) -> None:
    """Put into the tree what leaves a mark when it is run."""
    tree, marks = hostile.tree, hostile.marks
    (tree / "bin").mkdir()
    mark = f'echo run >"{marks}/'
    for name in PROGRAMS:
        for place in (tree / name, tree / "bin" / name):
            _write_program(place, f'#!/bin/sh\n: {name}\n{mark}program-{name}"\nexit 0\n')
    evil = tree / "evil"
    _write_program(evil, f'#!/bin/sh\n{mark}evil"\ncat\n')
    for name in MODULES:
        text = f"open({str(marks / f'module-{name}')!r}, 'w').close()\n"
        if name == "counterpoint":
            (tree / name).unlink()
            (tree / name).mkdir()
            (tree / name / "__init__.py").write_text(text)
            (tree / name / "__main__.py").write_text(text)
        else:
            (tree / f"{name}.py").write_text(text)
    hooks = tree / "hooks"
    for name in HOOKS:
        for place in (hooks / name, tree / ".git" / "hooks" / name):
            place.parent.mkdir(exist_ok=True)
            _write_program(place, f'#!/bin/sh\n{mark}hook-{name}"\n')
    for key in GIT_KEYS:
        command = "true" if key == "log.showSignature" else f"sh -c '{mark}git-{key}\"; cat'"
        subprocess.run(["git", "config", key, command], cwd=tree, env=hostile.environ, check=True)
    subprocess.run(
        ["git", "config", "core.hooksPath", str(hooks)], cwd=tree, env=hostile.environ, check=True
    )
    (tree / ".gitattributes").write_text("* filter=hostile diff=hostile merge=hostile\n")
    (tree / "counterpoint.toml").write_text(SETTINGS.format(evil=evil))
    (tree / ".env").write_text(
        "".join(f"{name}={evil}\n" for name in (*VARIABLES, "PYTHONSTARTUP"))
    )
    (tree / "plan.md").write_text("# Plan\n## Changed\n- [ ] Other\n")


def _write_program(place: Path, text: str) -> None:
    place.write_text(text)
    place.chmod(0o755)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in LONG else [])
        for name in sorted(_commands(cli))
    ],
)
def test_no_command_runs_anything_out_of_a_hostile_folder(
    hostile: HostileFolder, name: str
) -> None:
    """As it is installed, from a shell whose PATH begins in the tree; no usage error ends it before it looks."""
    ids = {"TASK": "tree-3", "PHASE": "tree-2"}
    words = [ids.get(word, word) for word in ARGUMENTS.get(name, ())]
    ran = hostile.run(*name.split(), *words)
    # `top` says so where there is no terminal.
    assert name == "top" or "Usage:" not in ran.stderr, ran.stderr
    assert "Traceback" not in ran.stderr, ran.stderr
    assert hostile.marked() == [], (name, ran)


def test_what_a_hostile_folder_holds_leaves_marks(hostile: HostileFolder) -> None:
    """Started as whoever does not look does: so that the test above can fail at all."""
    careful = hostile.environ | {"PATH": os.environ["PATH"]}
    for words, environ in (
        ([sys.executable, "-m", "counterpoint"], careful),
        (["git", "status"], careful),
        (["/bin/sh", "-c", "less; evil"], hostile.environ),
    ):
        subprocess.run(words, cwd=hostile.tree, env=environ, check=False, capture_output=True)
    marks = {*hostile.marked()}
    assert {"module-counterpoint", "program-less", "evil"} <= marks
    assert any(name.startswith("git-") for name in marks), marks
