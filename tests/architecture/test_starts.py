"""Nothing out of the folder that is worked in is started: no module of it, and no program."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[2] / "src" / "counterpoint"
ISOLATED = frozenset({"-P", "-I"})
STARTS = frozenset(
    {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "posix_spawn"}
    | {"posix_spawnp", "system", "popen", "execv", "execve", "execvp", "execvpe", "execl", "execle"}
    | {"execlp", "execlpe", "spawnv", "spawnve", "spawnl", "create_subprocess_exec"}
    | {"create_subprocess_shell", "startfile"}
)  # fmt: skip
MODULES = frozenset({"subprocess", "os", "asyncio", "pty", "webbrowser"})
STARTING = {
    "cli/clients/client_entries.py": "counterpoint by find_program",
    "cli/demo/processes.py": "the interpreter, -P",
    "cli/demo/repository.py": "git by search_path",
    "cli/doctor.py": "git by find_program",
    "cli/paging.py": "the pager by find_program",
    "cli/server/starting.py": "the command that doctor gives",
    "dialects/foundry/toolchain.py": "programs by find_program",
    "evidence/documents/pdf.py": "the interpreter, -I",
    "evidence/git/call.py": "git by search_path",
    "evidence/running/commands.py": "the interpreter, -I",
    "evidence/trust/program.py": "the account's signer by search_path",
    "evidence/trust/ssh.py": "ssh-keygen and git by search_path",
    "kernel/listing_cache.py": "own_command",
    "kernel/starting/restart.py": "the interpreter, -I or -P",
    "protocol/client.py": "the command that a caller gives, which is own_command",
    "providers/commands.py": "models' programs by find_program",
    "relay/server.py": "own_command",
    "runner/starting.py": "a command that a person trusts",
}
"""Every module that starts something, and how that is found."""
LOOKING = frozenset(
    {"cli/clients/setup.py", "cli/clients/known.py", "dialects/foundry/toolchain.py"}
)
"""Who asks whether a program is on the whole PATH, and starts none that is found so."""


@cache
def _modules() -> list[tuple[str, list[ast.AST]]]:
    return [
        (path.relative_to(SRC).as_posix(), [*ast.walk(ast.parse(path.read_text("utf-8")))])
        for path in sorted(SRC.rglob("*.py"))
    ]


def _name(node: ast.AST) -> str:
    """Answer `module.name` for what is written so; else nothing."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def test_no_interpreter_is_started_with_modules_of_the_current_folder() -> None:
    """After each word that is the interpreter `-P` or `-I` follows, before anything else."""
    faults: list[str] = []
    seen = 0
    for path, nodes in _modules():
        counted: set[int] = set()
        for node in nodes:
            if not isinstance(node, ast.List | ast.Tuple):
                continue
            for place, word in enumerate(node.elts):
                if _name(word) != "sys.executable":
                    continue
                counted.add(id(word))
                after = node.elts[place + 1] if place + 1 < len(node.elts) else None
                if not (isinstance(after, ast.Constant) and after.value in ISOLATED):
                    faults.append(f"{path}:{word.lineno} {ast.unparse(node)}")
        for node in nodes:
            # What stands outside of a list can be put before any words.
            if _name(node) == "sys.executable" and id(node) not in counted:
                seen += 1
                if path != "cli/demo/scenario.py":
                    faults.append(f"{path}:{getattr(node, 'lineno', 0)} outside of a list")
    assert faults == []
    assert seen, "the plan of the demonstration has none any more: take it out here"


def test_the_plan_of_the_demonstration_starts_interpreters_alike() -> None:
    """Its checks are written in a file."""
    plan = (SRC / "cli/demo/pieces/plan.md").read_text("utf-8")
    assert plan.count("{python} -P -m") == plan.count("{python}") > 0


def test_every_place_that_starts_a_program_is_known_with_how_it_is_found() -> None:
    """So that whoever adds one says here how a program of that name in the tree is passed over."""
    starting: set[str] = set()
    looking: set[str] = set()
    for path, nodes in _modules():
        for node in nodes:
            module, _, function = _name(node).partition(".")
            if module in MODULES and function in STARTS and _name(node) != "asyncio.run":
                starting.add(path)
            if _name(node) == "shutil.which":
                looking.add(path)
            if isinstance(node, ast.ImportFrom) and node.module in {*MODULES, "shutil"}:
                # By its bare name it would not be seen here.
                assert STARTS.isdisjoint(alias.name for alias in node.names), path
                assert all(alias.name != "which" for alias in node.names), path
            assert not (isinstance(node, ast.keyword) and node.arg == "shell"), path
    assert starting == {*STARTING}
    assert looking == LOOKING
