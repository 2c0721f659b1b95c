"""Which variables a started program may see, and which secrets are masked.

A variable reaches a command if and only if (1) it has a value, (2) its name is in the allow-list
or was named by the project's settings, and (3) its name does not look like that of a secret, nor leads it to a program that uses
keys for whoever asks (`SSH_AUTH_SOCK`), or to a shared terminal. Rule 3 has no exception. (4) A name that leads to another program which acts
for whoever asks (`DOCKER_HOST`, `DISPLAY`) reaches it only where the project's trusted configuration names it. What says from where an interpreter loads code (`PYTHONPATH`, `NODE_OPTIONS`) is not in the list: it would be part
of the program. Git gets everything but secrets and the variables that would point it at
another repository, another index or somebody's tracing file.

The value of a secret is masked before anything is written. A value counts if and only if (1) it has at
least eight characters, (2) it stands in a `.env` or `.env.*` file directly in the root (not in one
that is an example), or in an environment variable whose name looks secret, and (3) in a file, if the name beside it does not look secret, it is no plain word,
number or path: masking `development` wherever it stands would hide more than it keeps. Of a
quoted value over several lines each line counts too, of an address its password, and of a value
with escapes both spellings. What cannot be read as NAME=VALUE is passed over: the files belong to
other programs, and one bad line must not uncover the others.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from counterpoint.core.model.access import SECRET_PREFIX
from counterpoint.core.model.trust.checking import LEADING
from counterpoint.kernel.client_session import is_reference
from counterpoint.kernel.matching.expressions import expression

_ALLOWED = frozenset(
    {"PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "VIRTUAL_ENV", "CI", "NODE_ENV"}
    | {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8"}
    | {"PYTHONIOENCODING"}
)
_TO_KEYS = frozenset(
    {"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS"}
    | {"XDG_RUNTIME_DIR", "KRB5CCNAME", "TMUX", "TMUX_TMPDIR", "STY", "SCREENDIR", "ZELLIJ"}
    | {"KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "ALACRITTY_SOCKET", "SWAYSOCK", "I3SOCK"}
    | {"HYPRLAND_INSTANCE_SIGNATURE"}
)
_LEADING = frozenset(name for names in LEADING.values() for name in names)
_ALLOWED_STARTS = ("LC_", "GIT_AUTHOR_", "GIT_COMMITTER_")
_GIT_KEPT = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)
_GIT_DECIDING = ("PATH", "HOME", "XDG_CONFIG_HOME", *sorted(_GIT_KEPT))
# Optional locks would be taken from whoever works in the tree; a prompt would wait for ever.
_GIT_FIXED = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    # An object that is missing here is not fetched by the way, by whatever program a remote is reached.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
_SECRET = expression(
    "TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL"
    r"|(?:^|[_.-])PAT(?![A-Z])|(?<=.)(?<!^OLD)PWD",
    re.IGNORECASE,
)
"""`PWD` and `OLDPWD` alone are folders."""


_SHORTEST = 8
_LARGEST_FILE = 1_000_000
_ASSIGNMENT = expression(
    r"""^[^\S\n]*(?:export[^\S\n]+)?(?P<name>[\w.-]+)[^\S\n]*[=:][^\S\n]*
        (?: "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>[^']*)' | `(?P<tick>[^`]*)`
          | (?P<bare>[^\n]*) )""",
    re.MULTILINE | re.VERBOSE | re.DOTALL,
)
_EXAMPLES = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})
_PLAIN = expression(r"[A-Za-z]+|[\d.,:-]+|\.{0,2}/[^\s]*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = expression(r"\\(.)", re.DOTALL)
_COMMENT = expression(r"(?:^|\s)#.*$")


def looks_secret(name: str) -> bool:
    """Return whether a variable of this name is likely to hold a secret."""
    return _SECRET.search(name) is not None


def for_command(
    environ: Mapping[str, str], extra_names: Collection[str] = (), sockets: Collection[str] = ()
) -> dict[str, str]:
    """Return the variables a command may see; `extra_names` widens the allow-list, `sockets` are those of `LEADING` that were trusted."""
    names = {*_ALLOWED, *(set(extra_names) - _LEADING), *sockets}
    return {
        name: value
        for name, value in environ.items()
        if not (looks_secret(name) or name in _TO_KEYS)
        and (name in names or name.startswith(_ALLOWED_STARTS))
    }


def deciding_for_git(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that decide what git answers: which git, which configuration, which limits.

    Where these are equal, git says the same of a tree, wherever and by whom it was started.
    """
    return tuple(environ.get(name, "") for name in _GIT_DECIDING)


def for_git(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables git may see, with its answers fixed to plain English."""
    variables = {
        name: value
        for name, value in environ.items()
        if not looks_secret(name) and (name in _GIT_KEPT or not name.startswith("GIT_"))
    }
    variables.pop("LANGUAGE", None)
    return variables | _GIT_FIXED


def secret_values(root: Path, environ: Mapping[str, str]) -> frozenset[str]:
    """Return every text that must never be shown or stored; files out of reach count as empty."""
    secrets = {
        value
        for name, value in environ.items()
        if looks_secret(name) and not is_reference(name, value)
    }
    for text in _texts(root):
        secrets.update(_values(text))
    # A credential is known by its digits alone, which may be taken for any hash.
    secrets.update(value.removeprefix(SECRET_PREFIX) for value in tuple(secrets))
    forms = {form for value in secrets for form in _forms(value)}
    return frozenset(form for form in forms if len(form) >= _SHORTEST)


def _texts(root: Path) -> Iterator[str]:
    try:
        paths = list(root.iterdir())
    except OSError:
        return
    for path in paths:
        if path.name in _EXAMPLES:
            continue
        if path.name == ".env" or path.name.startswith(".env."):
            text = _text(path)
            if text:
                yield text


def _text(path: Path) -> str:
    """Return what stands in a plain file; a pipe of that name must not make us wait."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return ""
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE)
    except OSError:
        return ""
    return content.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _values(text: str) -> Iterator[str]:
    for match in _ASSIGNMENT.finditer(text):
        for value in _spellings(match):
            if looks_secret(match["name"]) or not _PLAIN.fullmatch(value):
                yield value


def _spellings(match: re.Match[str]) -> Iterator[str]:
    """Return a value as it may be meant: with and without escapes, with and without a comment."""
    double = match["double"]
    if double is not None:
        yield double
        yield _ESCAPED.sub(lambda part: _ESCAPES.get(part[1], part[1]), double)
    elif match["bare"] is None:
        yield match["single"] or match["tick"] or ""
    else:
        yield _COMMENT.sub("", match["bare"]).strip()
        yield match["bare"].strip()


def _forms(value: str) -> Iterator[str]:
    yield value
    yield from (line.strip() for line in value.splitlines())
    if "://" in value:
        try:
            password = urlsplit(value).password
        except ValueError:
            return
        if password:
            yield password
            # A program that connects says the password decoded, in its errors for one.
            yield unquote(password)
