"""What a project says of checks, models and the web, in a committed file.

`counterpoint.toml` in the project's own folder, not that of a linked worktree:

    [checks]
    sandbox = "auto"      # or "require", or "off"
    network = true
    commands = [           # what may be run; a last "*" stands for any words
        ["pytest", "*"],
    ]
    free = false           # whether any other command may be run too
    home = [".npmrc"]      # which hidden logins of the home commands see
    sockets = ["DISPLAY"]  # which variables that lead to hidden sockets commands get, with these sockets

    [specs]
    mirror = true          # whether specs are kept as files too; without it: where there is a folder `specs`

    [models]               # whom to ask for models: see model_tables.py
    [web]                  # whom to ask for searches, and which pages are fetched: see web_tables.py

What it says of commands, addresses, prices and higher limits counts once a person has trusted it (core/rules/trust/commands.py). A file that cannot be read so, or has a key or
table that there is not, is refused, with all its faults: what was meant would else be lost without a word. Nothing is run then.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast, get_args

from counterpoint.core.model.models import Modelling
from counterpoint.core.model.trust.checking import (
    CONFIGURATION,
    KEYS,
    LEADING,
    Checking,
    Sandboxing,
    is_key,
)
from counterpoint.core.model.web import Browsing
from counterpoint.kernel.errors import MalformedDocument

NAME: Final = CONFIGURATION
TABLE: Final = "checks"
MIRRORED: Final = "specs"
MODELS: Final = "models"
WEB: Final = "web"
MIRROR: Final = "mirror"
_MOST_DOTS: Final = 500
_LARGEST: Final = 100_000
_MEND: Final = "Mend the file, or move it away."
_SORTS: Final = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
_KINDS: Final = {
    "sandbox": str,
    "network": bool,
    "commands": list,
    "free": bool,
    "home": list,
    "sockets": list,
}
_NAMES: Final = {bool: "true or false", str: "a text", list: "a list"}


def read_checking(home: Path) -> Checking:
    """Return what the file of a project says; the defaults without one. MalformedDocument."""
    return load_checking(read_text(home))


def load_checking(text: str) -> Checking:
    """Return what the text of such a file says; MalformedDocument."""
    whole = _whole(text)
    table_names = {TABLE, MIRRORED, MODELS, WEB}
    faults = [_stray(name, whole[name]) for name in sorted(set(whole) - table_names)]
    table = _table(whole)
    faults += [
        f"`{name}` is not known below [{TABLE}]{_near(name)}"
        for name in sorted(set(table) - set(_KINDS))
    ]
    faults += [
        f"`{name}` below [{TABLE}] must be {_NAMES[kind]}"
        for name, kind in _KINDS.items()
        if name in table and type(table[name]) is not kind
    ]
    faults += _mirror_faults(whole.get(MIRRORED, {}))
    models = Modelling()
    if MODELS in whole:
        # Most files say nothing of models, and all are read on the way to a check.
        from counterpoint.evidence.running.model_tables import read_models

        models, wrong = read_models(whole[MODELS])
        faults += wrong
    web = Browsing()
    if WEB in whole:
        from counterpoint.evidence.running.web_tables import read_web

        web, wrong = read_web(whole[WEB])
        faults += wrong
    sandbox = table.get("sandbox", "auto")
    if not faults and sandbox not in get_args(Sandboxing):
        faults.append(f"`sandbox` below [{TABLE}] must be one of {', '.join(get_args(Sandboxing))}")
    commands = table.get("commands", [])
    if not faults and not all(_is_command(command) for command in commands):
        faults.append(
            f"each of `commands` below [{TABLE}] must be a list of words, with a program first"
        )
    home, sockets = table.get("home", []), table.get("sockets", [])
    if not faults:
        faults += _exposed_faults(home, sockets)
    if faults:
        raise MalformedDocument(f"{NAME}: {'; '.join(faults)}", hint=_MEND, faults=faults)
    return Checking(
        sandbox=sandbox,
        network=table.get("network", True),
        commands=tuple(tuple(words) for words in commands),
        free=table.get("free", False),
        home=tuple(home),
        sockets=tuple(sockets),
        mirrors=whole.get(MIRRORED, {}).get(MIRROR),
        models=models,
        web=web,
    )


def _exposed_faults(home: list[Any], sockets: list[Any]) -> Iterator[str]:
    """Return what is wrong with lists of what commands see all the same."""
    for path in home:
        if not is_key(path):
            yield f"`home` below [{TABLE}] lists {json.dumps(path)}, which is none of {', '.join(KEYS)}, or below one"
    variables = [name for names in LEADING.values() for name in names]
    for name in sockets:
        if name not in variables:
            yield f"`sockets` below [{TABLE}] lists {json.dumps(name)}, which is none of {', '.join(variables)}"


def _mirror_faults(table: Any) -> list[str]:
    if type(table) is not dict:
        return [f"`{MIRRORED}` is not a table"]
    fields = cast("dict[str, Any]", table)
    faults = [
        f"`{name}` is not known below [{MIRRORED}]" for name in sorted(set(fields) - {MIRROR})
    ]
    if type(fields.get(MIRROR, False)) is not bool:
        faults.append(f"`{MIRROR}` must be true or false")
    return faults


def _is_command(words: object) -> bool:
    """Return whether these are the words of a command, which names its program."""
    if type(words) is not list or not words:
        return False
    items = cast("list[object]", words)
    return all(type(word) is str for word in items) and items[0] not in {"", "*"}


def read_text(home: Path) -> str:
    """Return the text of a project's file, empty without one; MalformedDocument."""
    path = home / NAME
    try:
        # A link could lead to what somebody else may change, a pipe would wait.
        sort = stat.S_IFMT(path.lstat().st_mode)
        if sort != stat.S_IFREG:
            raise MalformedDocument(
                f"{NAME} is {_SORTS.get(sort, 'a device')}, where a file is meant",
                hint="Put a file into its place, or take it away.",
            )
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags), "rb") as file:
            return file.read(_LARGEST).decode()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as fault:
        raise _unread(fault) from fault


def _unread(fault: Exception) -> MalformedDocument:
    why = fault.strerror if isinstance(fault, OSError) else fault
    return MalformedDocument(f"{NAME} cannot be read: {why}", hint=_MEND)


def _whole(text: str) -> dict[str, Any]:
    if not text:
        # Most projects have no such file, and short commands nothing else that would load the parser.
        return {}
    import tomllib

    # The parser takes a time that grows with the square of a key's parts.
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise _unread(ValueError(f"a line has more than {_MOST_DOTS} dots"))
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise _unread(ValueError("it is nested too deep")) from None
    except ValueError as fault:
        raise _unread(fault) from fault


def _table(whole: dict[str, Any]) -> dict[str, Any]:
    table = whole.get(TABLE, {})
    if type(table) is not dict:
        raise MalformedDocument(f"`{TABLE}` in {NAME} is not a table", hint=_MEND)
    return cast("dict[str, Any]", table)


def _stray(name: str, value: object) -> str:
    """Return what is wrong with a key or table beside the only table that there is."""
    if name in _KINDS:
        return f"`{name}` belongs below [{TABLE}]"
    return f"[{name}] is not known{_near(name)}" if type(value) is dict else _below(name)


def _below(name: str) -> str:
    return f"`{name}` stands outside of [{TABLE}], and is not known{_near(name)}"


def _near(name: str) -> str:
    """Return which known name is meant by another, as far as that can be seen."""
    from difflib import get_close_matches

    near = get_close_matches(name, (TABLE, *_KINDS), n=1)
    if not near:
        return ""
    meant = f"[{TABLE}]" if near[0] == TABLE else f"`{near[0]}` below [{TABLE}]"
    return f" (did you mean {meant}?)"
