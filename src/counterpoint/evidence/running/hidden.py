"""What a sandbox hides from commands: the ledger, and what proves or acts.

1. The folder `.counterpoint` of the ledger, unless the tree that the command works in lies in it. A database elsewhere lies among
   files of others: there each file whose name begins as that of the database does, and what this program makes beside it (`_BESIDE`). So with
   every ledger that this account knows. A journal or a log, of which SQLite would fill the database, and by what a server is met, are made
   empty where none are, so that they can be hidden; so are folders, unless the place is one that is worked in. So are ledgers of repositories beside the tree and in the home.
2. The state of the signer, with the secrets of connections; people's keys, and those of providers of models; the user's own folder for sockets.
   The state is made where it is not there, also where it is without XDG_STATE_HOME: a command could else say there what this account trusts.
3. What holds keys and logins of the person's (`KEYS`, in the home of the account and of the server), and the sockets of programs that use them for whoever asks: what
   variables name (`SOCKETS`), what such programs make in folders for temporary files, and the account's runtime folder (`/run/user/…`)
   whole. Not what the command needs: a folder that has its tree or its temporary files.
What is not there cannot be hidden. A login that a command makes where none was is put aside when it has ended (guarding.py). The rest of a home is
seen, since tools have their caches there.
"""

from __future__ import annotations

import glob
import os
import pwd
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from counterpoint.core.model.evidence import Execution
from counterpoint.core.model.trust.checking import KEYS
from counterpoint.evidence.trust.folders import make_private
from counterpoint.evidence.trust.known import known_places
from counterpoint.evidence.trust.personal import folder_of
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.places import DATABASE, FOLDER, own_folder, provider_folder, state_folder

SOCKETS: Final = ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS")
_MADE: Final = ("ssh-*", "gpg-*", "keyring-*", "dbus-*", "tmux-*", "screen*/S-*", "S-*")
"""Folders of sockets of agents, and of terminals that others share."""
_FOR_OTHERS: Final = 0o077
_BESIDE: Final = {
    "checkpoints": "*",
    "reads": "recording",
    "trusted": "*/counterpoint.toml",
    "private": "*/without-a-key",
    "running": "",
}
_NOTE: Final = b"counterpoint/"
"""How a checkpoint begins."""
"""Folders that are made beside a database, with what tells one from a folder of somebody else."""
_ENDINGS: Final = ("-journal", "-wal", "-server.json", "-server.lock", "-server.starting")
"""Files beside a database that act, and count as none while they are empty."""
_MADE_AT_ANY_TIME: Final = frozenset(("checkpoints", "running"))
"""What servers make while commands run."""
_MOST_NEIGHBOURS: Final = 1_000
_PROGRAMS: Final = {
    ".ssh": ("ssh", "scp", "sftp", "rsync", "git", "ansible"),
    ".gnupg": ("gpg", "gpg2", "git", "pass"),
    ".password-store": ("pass",),
    ".local/share/keyrings": ("keyring", "secret-tool"),
    ".1password": ("op",),
    ".git-credentials": ("git",),
    ".config/git/credentials": ("git",),
    ".netrc": ("curl", "wget", "git", "pip", "requests"),
    ".config/gh": ("gh",),
    ".claude": ("claude",),
    ".claude.json": ("claude",),
    ".codex": ("codex",),
    ".gemini": ("gemini",),
    ".aws": ("aws", "boto3", "botocore", "terraform", "cdk", "sam"),
    ".azure": ("az", "azure", "terraform"),
    ".config/gcloud": ("gcloud", "gsutil", "bq", "google", "terraform"),
    ".docker": ("docker", "podman", "buildx", "compose"),
    ".kube": ("kubectl", "helm", "kustomize", "k9s"),
    ".npmrc": ("npm", "npx", "pnpm", "yarn", "bun"),
    ".pypirc": ("twine", "pypi", "pip", "uv", "flit", "hatch"),
    ".cargo/credentials": ("cargo",),
    ".cargo/credentials.toml": ("cargo",),
}
"""Programs that read a login of the home."""
_DENIED: Final = re.compile(
    r"\b(40[13]|E40[13]|ENEEDAUTH|unauthori[sz]ed|forbidden|denied|credentials?|authenticat\w*|not logged in|log ?in|no identity"
    r"|secret key|could not read Username|kubeconfig|connection to the server localhost:8080)\b",
    re.IGNORECASE,
)
"""What programs say that lack a login."""


def hidden_paths(
    database: Path | None, tree: Path, *environs: Mapping[str, str], exposed: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the folders and files that a command in a tree must not see.

    environs: whose state it is. exposed: what it sees of the home all the same.
    """
    paths = [Path(own_folder())]
    databases = {database} if database is not None else set[Path]()
    paths += [path for path in _neighbour_ledgers(tree, environs) if (path / DATABASE).exists()]
    for environ in environs:
        # Also what another shell of the person's has, in which no variable says where.
        states = [
            Path(state_folder(environ)),
            Path(state_folder({"HOME": environ.get("HOME", "")})),
        ]
        _make_states(states)
        paths += [
            *states,
            folder_of(environ),
            Path(provider_folder(environ)),
        ]
        databases |= {*known_places(Path(state_folder(environ)))}
    for file in sorted(databases):
        folder = file.parent
        is_own = folder.name == FOLDER and not tree.is_relative_to(folder)
        paths += [folder] if is_own else _of_database(file, tree, environs)
    paths += _without_needed(tree, (*_keys(environs, exposed), *_sockets(environs)))
    # A link would be followed to what it shows, which is hidden just so.
    return tuple(sorted({os.path.realpath(path) for path in paths if path.exists()}))


def _make_states(folders: Iterable[Path]) -> None:
    """Make folders of the account's state, so that they can be hidden; where that cannot be done here, no command can either."""
    for folder in folders:
        with suppress(Unavailable):
            if folder.is_absolute() and not folder.exists():
                make_private(folder)


def absent_ledgers(database: Path | None, tree: Path, *environs: Mapping[str, str]) -> list[Path]:
    """Return where no command is to leave anything of a ledger, and nothing is: beside its database, and in repositories beside the tree."""
    paths = [path for path in _neighbour_ledgers(tree, environs) if not (path / DATABASE).exists()]
    # A folder of it that has more than a ledger, as templates, stays.
    paths = [path / DATABASE if path.exists() else path for path in paths]
    if database is not None and database.exists() and database.parent.name != FOLDER:
        paths += [database.parent / name for name in _BESIDE if name not in _MADE_AT_ANY_TIME]
    return [path for path in paths if not os.path.lexists(path)]


def without_begun(
    absent: Sequence[str], since: float, *environs: Mapping[str, str]
) -> tuple[str, ...]:
    """Return paths without those at or below which this account has begun a ledger since a time: no command could tell it of one.

    A place that it knows from before has what a command has laid there, under the name of what was there.
    """
    if not any(os.path.lexists(path) for path in absent):
        return tuple(absent)
    states = {Path(state_folder(environ)) for environ in environs}
    places = [place for state in states for place in known_places(state, since)]
    return tuple(path for path in absent if not any(place.is_relative_to(path) for place in places))


def _neighbour_ledgers(tree: Path, environs: tuple[Mapping[str, str], ...]) -> list[Path]:
    """Return where repositories beside a tree, and in the homes, have their ledgers, or would."""
    homes = {environ.get("HOME", "") for environ in environs} | {_home()}
    folders = list[Path]()
    for parent in {tree.parent, *(Path(home) for home in homes - {""})}:
        with suppress(OSError):
            folders += sorted(parent.iterdir())[:_MOST_NEIGHBOURS]
    return [
        folder / FOLDER
        for folder in dict.fromkeys(folders)
        if not tree.is_relative_to(folder) and os.path.lexists(folder / ".git")
    ]


def _of_database(file: Path, tree: Path, environs: tuple[Mapping[str, str], ...]) -> list[Path]:
    """Return what is hidden of a database that lies among files of others; what can be hidden only if it is there is made."""
    folder, homes = file.parent, {environ.get("HOME", "") for environ in environs} | {_home()}
    needed = [Path(os.path.realpath(path)) for path in (tree, tempfile.gettempdir(), *homes - {""})]
    is_shared = folder.is_relative_to(needed[0]) or any(
        path.is_relative_to(folder) for path in needed
    )
    # One that is empty has nothing to be rolled back.
    has_content = file.exists() and bool(file.stat().st_size)
    if has_content:
        # Where it cannot be made here, a command of the same account cannot make it either.
        for ending in _ENDINGS:
            with suppress(OSError):
                os.close(os.open(f"{file}{ending}", os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    for name in _BESIDE if has_content and not is_shared else ():
        with suppress(OSError):
            (folder / name).mkdir(mode=0o700)
    beside = [folder / name for name in _BESIDE]
    # In a folder that is worked in, one of these names may be somebody else's.
    own = [path for path in beside if not is_shared or _is_beside(path)]
    return [*sorted(folder.glob(f"{glob.escape(file.name)}*")), *own]


def _is_beside(folder: Path) -> bool:
    """Return whether a folder beside a database was made by this program."""
    files = folder.glob(_BESIDE[folder.name]) if _BESIDE[folder.name] else ()
    if folder.name != "checkpoints":
        return any(files)
    with suppress(OSError):
        return any(file.is_file() and file.read_bytes().startswith(_NOTE) for file in files)
    return False


def hidden_logins(
    tree: Path, *environs: Mapping[str, str], exposed: Sequence[str] = ()
) -> tuple[Path, ...]:
    """Return where the homes have what a command in a tree must not see, or would have it, links not followed."""
    return tuple(path for path in _keys(environs, exposed) if [*_without_needed(tree, [path])])


def _without_needed(tree: Path, paths: Iterable[Path]) -> Iterator[Path]:
    """Return where paths lead, without those that have the tree of a command or its temporary files."""
    needed = [Path(os.path.realpath(path)) for path in (tree, tempfile.gettempdir())]
    for path in paths:
        target = Path(os.path.realpath(path))
        if not any(folder.is_relative_to(target) for folder in needed):
            yield target


def missed_logins(
    execution: Execution, environ: Mapping[str, str], exposed: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the hidden logins that a command seems to have failed for, by their paths in the home.

    Its output names one, or says that a login lacks while a program takes part that reads one.
    """
    if execution.sandbox == "none" or not execution.exit_code or execution.ended_for:
        return ()
    homes = [home for home in (environ.get("HOME", ""), _home()) if home]
    hidden = [
        key
        for key in KEYS
        if key not in exposed and any(Path(home, key).exists() for home in homes)
    ]
    is_denied = _DENIED.search(execution.output) is not None
    text = " ".join((*execution.argv, execution.output)) if is_denied else ""
    words = {match[0] for match in re.finditer(r"\w+", text)}
    return tuple(
        key
        for key in hidden
        if re.search(rf"(?<![\w.]){re.escape(key)}(?![\w.-])", execution.output)
        or not words.isdisjoint(_PROGRAMS[key])
    )


def _keys(environs: tuple[Mapping[str, str], ...], exposed: Sequence[str]) -> Iterator[Path]:
    """Return what holds keys. Where only a part of a folder is to be seen, the rest of it is hidden, each thing by itself."""
    homes = {environ.get("HOME", "") for environ in environs} | {_home()}
    for home in homes - {""}:
        seen = {Path(home, path) for path in exposed}
        waiting = [Path(home, name) for name in KEYS]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            if any(part.is_relative_to(path) for part in seen) and path.is_dir():
                waiting += path.iterdir()
            else:
                yield path


def _home() -> str:
    """Return the home that the system has for this account; empty if it knows of none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def _sockets(environs: tuple[Mapping[str, str], ...]) -> Iterator[Path]:
    runtime = {environ.get("XDG_RUNTIME_DIR", "") for environ in environs}
    for folder in (runtime | {f"/run/user/{os.getuid()}"}) - {""}:
        if _is_private(Path(folder)):
            yield Path(folder)
    for environ in environs:
        variables = {name: environ.get(name, "") for name in SOCKETS}
        # `unix:path=/run/…,guid=…` and `/…/S.gpg-agent:1:1`
        for text in variables.values():
            path = Path(text.removeprefix("unix:path=").partition(",")[0].partition(":")[0])
            if path.is_absolute():
                yield path
                if _is_private(path.parent):
                    # A folder of its own has what belongs to it, too.
                    yield path.parent
    temporary_folders = {"/tmp", "/run/screen", "/run/screens", tempfile.gettempdir()}  # noqa: S108 -- looked at, not written into
    temporary_folders |= {environ.get("TMUX_TMPDIR", "") for environ in environs} - {""}
    for temporary in temporary_folders:
        for pattern in _MADE:
            yield from (path for path in Path(temporary).glob(pattern) if _is_private(path))


def _is_private(folder: Path) -> bool:
    """Return whether a folder is this account's, and closed to others."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    is_closed = stat.S_ISDIR(status.st_mode) and not status.st_mode & _FOR_OTHERS
    return is_closed and status.st_uid == os.getuid()
