"""Laws of what is started: no module and no program out of the folder that is worked in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from laws import Repository

ISOLATED = frozenset({"-P", "-I"})
STARTS = frozenset(
    {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "posix_spawn"}
    | {"posix_spawnp", "system", "popen", "execv", "execve", "execvp", "execvpe", "execl", "execle"}
    | {"execlp", "execlpe", "spawnv", "spawnve", "spawnl", "create_subprocess_exec"}
    | {"create_subprocess_shell", "startfile"}
)  # fmt: skip
MODULES = frozenset({"subprocess", "os", "asyncio", "pty", "webbrowser"})
STARTING = {
    "board/handover.py": "own_command, and what opens files by find_program",
    "cli/clients/client_entries.py": "counterpoint by find_program",
    "cli/demo/processes.py": "the interpreter, -P",
    "cli/demo/repository.py": "git by search_path",
    "cli/doctor.py": "git by find_program",
    "cli/paging.py": "the pager by find_program",
    "cli/server/starting.py": "the command that doctor gives",
    "cli/service/handover.py": "own_command, and programs of the system by find_program",
    "dialects/foundry/environment/operations.py": "programs by find_program",
    "evidence/documents/pdf.py": "the interpreter, -I",
    "evidence/git/call.py": "git by search_path",
    "evidence/running/commands.py": "the interpreter, -I",
    "evidence/trust/program.py": "the account's signer by search_path",
    "evidence/trust/ssh.py": "ssh-keygen and git by search_path",
    "kernel/listing_cache.py": "own_command",
    "kernel/starting/restart.py": "the interpreter, -I or -P",
    "protocol/client.py": "the command that a caller gives, which is own_command",
    "providers/chat/commands.py": "models' programs by find_program",
    "relay/handover.py": "own_command",
    "relay/server.py": "own_command",
    "runner/starting.py": "a command that a person trusts",
}
"""Every module that starts something, and how that is found."""
LOOKING = frozenset(
    {"cli/clients/setup.py", "cli/clients/known.py", "dialects/foundry/environment/operations.py"}
)
"""Who asks whether a program is on the whole PATH, and starts none that is found so."""
SCENARIO = "cli/demo/scenario.py"
"""Where the interpreter stands outside of a list: in the plan of the demonstration."""
PLAN = "src/counterpoint/cli/demo/pieces/plan.md"


def interpreters_are_isolated(repository: Repository) -> Iterator[str]:
    """After each word that is the interpreter `-P` or `-I` follows; outside of a list it stands in the demonstration alone."""
    for file in repository.product:
        in_lists: set[int] = set()
        for node in file.nodes:
            if not isinstance(node, ast.List | ast.Tuple):
                continue
            for word, after in zip(node.elts, [*node.elts[1:], None], strict=False):
                if _dotted_name(word) != "sys.executable":
                    continue
                in_lists.add(id(word))
                if not (isinstance(after, ast.Constant) and after.value in ISOLATED):
                    yield f"{file.path}:{word.lineno} {ast.unparse(node)}"
        if file.path != SCENARIO:
            for node in file.nodes:
                # What stands outside of a list can be put before any words.
                if (
                    isinstance(node, ast.Attribute)
                    and _dotted_name(node) == "sys.executable"
                    and id(node) not in in_lists
                ):
                    yield f"{file.path}:{node.lineno} outside of a list"


def the_plan_of_the_demonstration_is_isolated(repository: Repository) -> Iterator[str]:
    """Its checks start interpreters alike; they are written in a file."""
    plan = repository.texts[PLAN]
    if not plan.count("{python} -P -m") == plan.count("{python}") > 0:
        yield f"{PLAN} starts an interpreter without `-P -m`"


def starting_places_are_listed(repository: Repository) -> Iterator[str]:
    """Every module that starts a program stands in `STARTING`, with how a program of that name in the tree is passed over."""
    starting: set[str] = set()
    looking: set[str] = set()
    for file in repository.product:
        for node in file.nodes:
            name = _dotted_name(node)
            module, _, function = name.partition(".")
            if module in MODULES and function in STARTS and name != "asyncio.run":
                starting.add(file.path)
            if name == "shutil.which":
                looking.add(file.path)
            if isinstance(node, ast.ImportFrom) and node.module in {*MODULES, "shutil"}:
                # By its bare name it would not be seen here.
                bare = {alias.name for alias in node.names} & {*STARTS, "which"}
                yield from (f"{file.path}:{node.lineno} imports {word}" for word in sorted(bare))
            if isinstance(node, ast.keyword) and node.arg == "shell":
                yield f"{file.path}:{node.lineno} shell="
    for path in sorted(starting ^ STARTING.keys()):
        yield f"{path} {'is not in' if path in starting else 'starts nothing, and is in'} STARTING"
    for path in sorted(looking ^ LOOKING):
        yield f"{path} {'is not in' if path in looking else 'looks for nothing, and is in'} LOOKING"


def _dotted_name(node: ast.AST) -> str:
    """Return `module.name` for what is written so; else nothing."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""
