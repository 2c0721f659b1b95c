"""Decides whether a call of `counterpoint mcp` is the relay's, and runs it."""

from __future__ import annotations

import _socket
import json
import os
from contextlib import suppress

from counterpoint import __version__
from counterpoint.kernel.client_session import (
    CREDENTIAL,
    PROBE,
    client_session,
    find_credential,
    forget_secret,
    open_locked_secret,
    starter,
)
from counterpoint.kernel.listing_cache import find_listing
from counterpoint.kernel.places import (
    FOLDERS,
    SOCKET,
    find_database,
    find_git_fault,
    find_tree_and_home,
    is_home_or_above,
    is_project,
)
from counterpoint.relay.answers import Answers, is_object
from counterpoint.relay.connection import Project, Relay
from counterpoint.relay.handover import (
    TRY,
    keep_descriptors,
    read_state,
    split_words,
    tell_form,
)
from counterpoint.relay.server import PATIENCE, PROTOCOL, open_in_process, open_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Final

FLAGS: Final = {
    **{name: name for name in ("surface", "db", "project", "item", "agent", "profile", "session")},
    **{name: name.replace("-", "_") for name in ("project-slug", "symphony-dir", "tool-scope")},
    "dialect": "surface",
    "run": "run",
    "worktree": "worktree",
    "run-id": "run",
    "worktree-path": "worktree",
    "project-id": "project",
    "issue-id": "item",
    "agent-type": "profile",
    "tool-scope-file": "tool_scope",
}
"""Flags that are known here, and the settings they set; of two for one setting the first counts."""
PASSED: Final = (
    "COUNTERPOINT_",
    "FOUNDRY_MCP_SPECS_DIR",
    "FOUNDRY_MCP_ROLE",
    "FOUNDRY_MCP_AUTONOMY_",
    "FOUNDRY_SANDBOX",
)
"""How the names of those variables begin that every server is sent."""
SENT: Final = ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
"""Variables that a server of this account is sent besides its own: where a command must not look. It is sent no others."""
FOREIGN: Final = ("IN_PROCESS", "MODE", "PROOFS")
"""Variables that make a call the command line's."""

WHERE: Final = ("db", "worktree", "symphony_dir")
"""Flags that say where one is: a client's roots are not asked for then."""
ROOTS_MOST: Final = 100
"""Roots of a client that are looked at."""

IDENTITY: Final = ("folder", "secret", "lock", "names", "has_run")
"""What a connection is known by, which an upgraded relay takes over as it is: the folder it was started in, its secret, the lock of that,
what the secret is kept by, and whether it is known which run it is of."""

STATE: Final = frozenset(
    (
        *IDENTITY,
        "client",
        "children",
        "version",
        "hello",
        "half",
        "lines",
        "to_client",
        "waiting",
        "is_over",
    )
)
"""What the state of a relay has that is handed over."""


def main(words: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """Relay as flags and environment say; None if the call is the command line's."""
    if environ.get(PROBE):
        _tell_variables(environ)
        return 0
    words, mode, descriptor = split_words(words)
    state = read_state(descriptor) if mode else {}
    flags = _flags(words, environ)
    if flags is None or state is None or (state and not state.keys() >= STATE):
        return None
    answers = _open_answers(flags, environ)
    # The server runs in another folder, where a relative path means something else.
    if flags.get("db"):
        flags["db"] = find_database("", flags["db"])
    folder = state["folder"] if state else os.getcwd()
    database = find_database(folder, flags.get("db", ""))
    is_unasked = not flags.get("db") and _is_unasked(database, environ)
    # A client that was started outside of any project may know which one it works on.
    is_nowhere = not state and not any(map(flags.get, WHERE)) and not is_project(folder)
    if answers is None or not _is_text(database) or (is_unasked and not is_nowhere):
        # The command line has the words for it, and starts nothing there.
        return None
    if mode == TRY:
        tell_form()
        return 0
    if is_nowhere:
        relay = Relay(answers, "", b"")
        relay.find_project = lambda roots: _find_project(roots, words, flags, environ)
    else:
        if state:
            keep_descriptors((state["lock"], state["client"]))
            identity = {name: state[name] for name in IDENTITY}
        else:
            tell_git_fault(folder)
            identity = _identify(flags, environ, folder, database)
        relay = Relay(answers, database, _greeting(flags, environ, database, identity))
        relay.identity = identity
    relay.words = words
    if state:
        relay.resume(state)
    try:
        return relay.run()
    finally:
        identity = relay.identity
        if identity and not identity["has_run"]:
            forget_secret(identity["secret"], identity["names"], environ)


def _find_project(
    roots: Sequence[object],
    words: Sequence[str],
    flags: Mapping[str, str],
    environ: Mapping[str, str],
) -> Project:
    """Return where a client is that was started outside of any project: in the first of its roots that is in one, else where it was started."""
    folders = [folder for root in roots[:ROOTS_MOST] if (folder := find_folder(root))]
    projects = [folder for folder in folders if is_project(folder)]
    folder = projects[0] if projects else os.getcwd()
    if roots:
        _tell_root(folder, projects)
    database = find_database(folder, "")
    tell_git_fault(folder)
    identity = _identify(flags, environ, folder, database)
    scope = flags.get("tool_scope")
    if projects and scope:
        # It was read in the folder that the client has started this in.
        flags = {**flags, "tool_scope": os.path.abspath(os.path.expanduser(scope))}
    greeting = _greeting(flags, environ, database, identity)
    is_refused = not projects and _is_unasked(database, environ)
    if is_refused:
        # The command line has the words for it, and starts nothing there.
        return Project(database, greeting, identity, lambda: open_in_process(words), PATIENCE)
    return Project(database, greeting, identity, lambda: open_server(database, greeting))


def _tell_root(folder: str, projects: Sequence[str]) -> None:
    """Say on the standard error, which clients show or log, in which of several roots this goes on."""
    if not projects:
        text = f"no root that the client names is a repository or holds a ledger, so this goes on in {folder}"
    else:
        text = f"this goes on in {folder}, the first root that the client names and that is a project's"
        if others := [other for other in projects[1:] if other != folder]:
            text += f"; not in {', '.join(others)}"
    _tell(text)


def tell_git_fault(folder: str) -> None:
    """Say on the standard error what is wrong with the repository that a folder lies in, if anything is."""
    if fault := find_git_fault(find_tree_and_home(folder)[0]):
        _tell(f"evidence is a comparison of file hashes until this is mended: {fault}")


def _tell(text: str) -> None:
    with suppress(OSError):
        os.write(2, f"counterpoint: {text}\n".encode("utf-8", "replace"))


def find_folder(root: object) -> str:
    """Return the path of the folder that a root of a client names by a `file:` URI; empty if it names none that is here."""
    uri = root.get("uri") if is_object(root) else None
    if not isinstance(uri, str) or uri[:5].lower() != "file:":
        return ""
    text = uri[5:]
    if text.startswith("//"):
        host, slash, path = text[2:].partition("/")
        if host.lower() not in {"", "localhost"}:
            return ""
        text = slash + path
    # Nothing is cut off at `?` and `#`: clients that do not quote them mean folders of such names.
    first, *parts = text.encode("utf-8", "replace").split(b"%")
    encoded = first + b"".join(map(_unquote, parts))
    folder = os.fsdecode(encoded)
    is_usable = folder.startswith("/") and "\0" not in folder and _is_text(folder)
    return folder if is_usable and os.path.isdir(folder) else ""


def _unquote(part: bytes) -> bytes:
    """Return what stands for a percent sign and what follows it."""
    try:
        # `fromhex` passes white space over.
        byte = bytes.fromhex(part[:2].decode().strip())
    except ValueError:
        byte = b""
    return byte + part[2:] if byte else b"%" + part


def _open_answers(flags: Mapping[str, str], environ: Mapping[str, str]) -> Answers | None:
    """Return what is answered without a server; None if nobody knows it, or nothing is open."""
    listing = find_listing(flags.get("surface", "native"), environ)
    if listing is None:
        return None
    answers = Answers(listing)
    opened = answers.narrow(flags.get("profile", ""), flags.get("tool_scope", ""))
    return answers if opened else None


def _identify(
    flags: Mapping[str, str], environ: Mapping[str, str], folder: str, database: str
) -> dict[str, Any]:
    """Return what a connection is known by; its fields are `IDENTITY`."""
    own = [flags.get(name, "") for name in ("surface", "agent", "profile", "item", "worktree")]
    session = client_session(flags.get("run", ""), environ, (database, *own))
    names = [session or starter(), database, *own]
    secret, lock = open_locked_secret(names, environ)
    return {
        "folder": folder,
        "secret": secret,
        "lock": lock,
        "names": names,
        "has_run": bool(session),
    }


def _greeting(
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    database: str,
    identity: Mapping[str, Any],
) -> bytes:
    """Return the line that a server is told first."""
    # A server of another account has no business with where this one keeps anything.
    sent = () if database.startswith(SOCKET) else SENT
    greeting = {
        "counterpoint": PROTOCOL,
        "version": __version__,
        "flags": flags,
        "environ": {
            name: environ[name] for name in environ if name.startswith(PASSED) or name in sent
        },
        "folder": identity["folder"],
        # By it the next server knows this connection again, and this client when it was started again.
        "secret": identity["secret"],
        "run": identity["has_run"],
    }
    return json.dumps(greeting).encode() + b"\n"


def _tell_variables(environ: Mapping[str, str]) -> None:
    """Print which of our variables have arrived here, without what they hold."""
    arrived = [
        name
        for name in environ
        if (name.startswith(PASSED[0]) or name in FOLDERS) and name != PROBE
    ]
    if not find_credential(environ) and CREDENTIAL in arrived:
        arrived.remove(CREDENTIAL)
    print(json.dumps({"version": __version__, "variables": sorted(arrived)}))  # noqa: T201 - what doctor reads


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_unasked(database: str, environ: Mapping[str, str]) -> bool:
    """Return whether a ledger would be begun in the user's home, or above it, by being called."""
    home = os.path.dirname(os.path.dirname(database))
    is_begun = os.path.exists(database) or os.path.exists(os.path.join(home, ".git"))
    return not is_begun and is_home_or_above(home, environ)


def _flags(words: Sequence[str], environ: Mapping[str, str]) -> dict[str, str] | None:
    """Return the flags that were given, as words or as variables; None for any other call."""
    if not hasattr(_socket, "AF_UNIX") or not hasattr(os, "posix_spawn"):
        return None
    if environ.get("COLIBRI_MODE") or any(environ.get(f"COUNTERPOINT_{name}") for name in FOREIGN):
        return None
    flags: dict[str, str] = {}
    for flag, setting in FLAGS.items():
        variable = "COUNTERPOINT_" + flag.upper().replace("-", "_")
        if variable in environ:
            flags.setdefault(setting, environ[variable])
    remaining = list(words)
    while remaining:
        name, equals, value = remaining.pop(0).partition("=")
        if name[:2] != "--" or name[2:] not in FLAGS or not (equals or remaining):
            return None
        flags[FLAGS[name[2:]]] = value if equals else remaining.pop(0)
    lease = environ.get("COUNTERPOINT_LEASE_SECONDS", "1")
    return None if "://" in flags.get("db", "") or not lease.isdecimal() else flags
