"""What a sandbox hides from commands: the ledger, and what proves or acts.

1. The folder `.counterpoint` of the ledger, unless the tree that the command works in lies in it. A database elsewhere lies among
   files of others: there each file whose name begins as that of the database does, and what this program makes beside it (`_BESIDE`, `_NOTES`). So with
   every ledger that this account knows. None of that can be made there (`partial_folders`), unless the place is one that is worked in, as the home is: there what this program
   opens beside the database (`BESIDE`) is made empty where it is not, so that it can be hidden. So are ledgers of repositories beside the tree and in the home.
2. What this program has of the person: the state of the signer, with the secrets of connections and what this account trusts; the settings, with people's keys and those
   of providers of models; the cache, with what tools are listed to agents; the user's own folder for sockets.
   All are made where they are not there, also where they are without variables of XDG: a command could else lay its own there.
3. What holds keys and logins of the person's (`KEYS`, in the home of the account and of the server, and what `FILES_OF_LOGINS` name), and the sockets of programs that act for whoever asks (`_PROGRAMS_OF`): what
   variables name, what such programs make in folders for temporary files and in `/run`, what the kernel says that somebody listens at by such a name, and
   the account's runtime folder (`/run/user/…`) whole. Kinds that a trusted configuration names (`LEADING`) are seen, also in that folder.
   Not hidden is what the command needs: a folder that has its tree or its temporary files. Sockets without a path: runner/namespaces.py.
What is not there cannot be hidden. A login that a command makes where none was is put aside when it has ended (guarding.py), but for one that a
program outside has come to use meanwhile: who starts a client for the first time keeps what that has made. The rest of a home is seen, since tools have
their caches there.
"""

from __future__ import annotations

import glob
import os
import pwd
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from counterpoint.core.model.evidence import Execution
from counterpoint.core.model.identity import Process
from counterpoint.core.model.trust.checking import FILES_OF_LOGINS, KEYS, LEADING, READERS_OF_KEYS
from counterpoint.evidence import procfs
from counterpoint.evidence.processes import look, variables_of
from counterpoint.evidence.trust.folders import make_private
from counterpoint.evidence.trust.known import known_places
from counterpoint.evidence.trust.servers import sees_other_files
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.listing_cache import cache_home
from counterpoint.kernel.ownership import BESIDE, IN_FOLDER
from counterpoint.kernel.places import DATABASE, FOLDER, config_folder, own_folder, state_folder


class _Programs(NamedTuple):
    """Programs that act for whoever asks.

    variables: what leads to their sockets. folders: what they make in folders for temporary files. sockets: patterns of whole paths. A
    star is a part of one name; one at the beginning, any folders.
    """

    variables: tuple[str, ...]
    folders: tuple[str, ...]
    sockets: tuple[str, ...]


_PROGRAMS_OF: Final = {
    "keys": _Programs(
        ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS"),
        ("ssh-*", "gpg-*", "keyring-*", "dbus-*"),
        (
            *("*/ssh-*/agent.*", "*ssh-agent*", "*/S.gpg-agent*", "*/S.keyboxd", "*/S.scdaemon"),
            *("*/keyring*/*", "*/dbus-*", "/run/user/*/bus", "*/kwallet*.socket"),
        ),
    ),
    "terminals": _Programs(
        (
            *("TMUX", "KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "ALACRITTY_SOCKET"),
            *("SWAYSOCK", "I3SOCK"),
        ),
        ("tmux-*", "screen*/S-*", "S-*", "zellij-*", "kitty-*"),
        (
            *("*/tmux-*/*", "*/kitty-*", "*/mykitty*", "*/wezterm/*", "*/zellij*/*"),
            *("*/Alacritty-*.sock", "*/sway-ipc.*", "*/i3/ipc-*", "*/hypr/*"),
        ),
    ),
    "containers": _Programs(
        LEADING["containers"],
        (),
        (
            *("*/docker*.sock", "*/podman*.sock", "*/containerd*.sock*", "*/crio.sock"),
            *("*/cri-dockerd.sock", "*/buildkitd.sock", "*/libvirt-sock*", "*/virt*-sock*"),
            *("*/lxd/unix.socket", "*/incus/unix.socket", "*/lxd*.socket", "*/incus*.socket"),
        ),
    ),
    "display": _Programs(
        LEADING["display"],
        (),
        ("*/.X11-unix/*", "*/.ICE-unix/*", "*/wayland-*", "*/.mutter-Xwaylandauth*", "*/xauth_*"),
    ),
    "editors": _Programs(
        LEADING["editors"],
        ("emacs[0-9]*", "nvim.*", "kakoune*"),
        (
            *(
                "*/vscode-*",
                "*/cursor-*.sock",
                "*/.config/Code*/*.sock",
                "*/.config/Cursor*/*.sock",
            ),
            *("*/.config/VSCodium*/*.sock", "*/.config/Windsurf*/*.sock", "*/JetBrains/*/.port"),
            *("*/AndroidStudio*/.port", "*/jb.*.sock", "*/emacs*/server*", "*/nvim.*"),
            *("*/nvimsocket*", "*/kakoune/*/*", "*/zed-*.sock"),
        ),
    ),
}
_OF_HOME: Final = {
    "display": (".Xauthority", ".ICEauthority"),
    "editors": (".emacs.d/server", ".config/emacs/server"),
}
"""What lets one in where no socket is asked for: cookies, and files that name a port with its secret."""
_DAEMONS: Final = ("/run", "/run/*", "/var/lib/lxd", "/var/lib/incus", "/var/snap/*/common/*")
"""Where programs of the system have their sockets, which somebody else may have bound."""
_COOKIES: Final = ("XAUTHORITY", "ICEAUTHORITY", "EMACS_SERVER_FILE")
_LEADS_TO: Final = re.compile(r"(?:unix:(?:path=)?)?(?://)?(/[^,:]*)")
"""`unix:path=/run/…,guid=…`, `unix:///run/docker.sock`, `/…/S.gpg-agent:1:1`."""
_FOR_OTHERS: Final = 0o077
_BESIDE: Final = {
    **dict(name.split("/", 1) for name in reversed(IN_FOLDER) if "/" in name and name[0] != "."),
    # Nothing tells these from folders of somebody else.
    "templates": "",
    "running": "",
}
"""Folders that are made beside a database, with what tells one from a folder of somebody else."""
_NOTE: Final = b"counterpoint/"
"""How a checkpoint begins."""
_NOTES: Final = re.compile(r"\.?(cursors|specs-.*|roles-.*|mirror-.*|restore-.*)(\..*)?")
"""The others of those files, with what is made for a moment under names that begin so."""
_PUT_ASIDE: Final = ("reads", "trusted", "private")
"""What is made beside a database only by people."""
_MOST_NEIGHBOURS: Final = 1_000
_DENIED: Final = re.compile(
    r"\b(40[13]|E40[13]|ENEEDAUTH|unauthori[sz]ed|forbidden|denied|credentials?|authenticat\w*|not logged in|log ?in|no identity"
    r"|secret key|could not read Username|kubeconfig|connection to the server localhost:8080)\b",
    re.IGNORECASE,
)
"""What programs say that lack a login."""
_UNREACHED: Final = {
    "DOCKER_HOST": re.compile(
        r"docker daemon|docker\.sock|podman\.sock|podman socket|docker ?(?:environment|client)\b.*not|error while fetching server API",
        re.IGNORECASE,
    ),
    "DISPLAY": re.compile(
        r"(?:open|connect to|missing)\b.*\bdisplay\b|no DISPLAY|no display name|missing x server",
        re.IGNORECASE,
    ),
}
"""What programs say that reach no container and no display."""


def hidden_paths(
    database: Path | None,
    tree: Path,
    *environs: Mapping[str, str],
    exposed: Sequence[str] = (),
    sockets: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the folders and files that a command in a tree must not see.

    environs: whose state it is. exposed: what it sees of the home all the same. sockets: variables whose kinds of sockets it sees.
    """
    paths = [Path(own_folder()), Path(os.sep, "tmp", f"counterpoint-{os.getuid()}")]
    _make_folders(paths, Path(_home()))
    databases = {database} if database is not None else set[Path]()
    paths += [path for path in _neighbour_ledgers(tree, environs) if (path / DATABASE).exists()]
    for environ in environs:
        folders = [*_of_person(environ)]
        _make_folders(folders, Path(environ.get("HOME", "")))
        paths += folders
    for file in sorted({*databases, *_known_databases(environs)}):
        folder = file.parent
        is_own = folder.name == FOLDER and not tree.is_relative_to(folder)
        paths += [folder] if is_own else _of_database(file, tree, environs)
    paths += _without_needed(tree, (*_keys(environs, exposed), *_sockets(environs, sockets)))
    # A link would be followed to what it shows, which is hidden just so.
    return tuple(sorted({os.path.realpath(path) for path in paths if path.exists()}))


def partial_folders(
    database: Path | None, tree: Path, *environs: Mapping[str, str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the folders of databases that lie among files of others, with the names in each that are of others.

    Not those that a command works in.
    """
    databases = [*_known_databases(environs), *([database] if database is not None else ())]
    own_names: dict[Path, set[str]] = {}
    for file in databases:
        if file.parent.name != FOLDER and not _is_shared(file.parent, tree, environs):
            own_names.setdefault(Path(os.path.realpath(file.parent)), set()).add(file.name)
    return tuple(
        (
            str(folder),
            tuple(
                path.name
                for path in sorted(folder.iterdir())
                if not path.name.removeprefix(".").startswith(tuple(names))
                and path.name not in _BESIDE
                and not _NOTES.fullmatch(path.name)
            ),
        )
        for folder, names in sorted(own_names.items())
        if os.access(folder, os.R_OK | os.X_OK)
    )


def _known_databases(environs: Sequence[Mapping[str, str]]) -> Iterator[Path]:
    homes = [{"HOME": environ.get("HOME", "")} for environ in environs]
    for state in {state_folder(variables) for variables in (*environs, *homes)}:
        # An account without a home has none.
        if state.startswith("/"):
            yield from known_places(Path(state))


def _of_person(environ: Mapping[str, str]) -> Iterator[Path]:
    """Return the folders of a person that this program reads, also as another shell has them, in which no variable says where."""
    for variables in (environ, {"HOME": environ.get("HOME", "")}):
        for find_folder in (state_folder, config_folder, cache_home):
            # An account without a home has none of them.
            if (folder := find_folder(variables)).startswith("/"):
                yield Path(folder)


def _make_folders(folders: Iterable[Path], home: Path) -> None:
    """Make folders of the account, so that they can be hidden; where that cannot be done here, no command can either.

    A home that there is not is not made.
    """
    for folder in folders:
        is_possible = home.is_dir() or not folder.is_relative_to(home)
        with suppress(Unavailable):
            if folder.is_absolute() and is_possible and not folder.exists():
                make_private(folder)


def absent_ledgers(database: Path | None, tree: Path, *environs: Mapping[str, str]) -> list[Path]:
    """Return where no command is to leave anything of a ledger, and nothing is: beside its database, and in repositories beside the tree."""
    paths = [path for path in _neighbour_ledgers(tree, environs) if not (path / DATABASE).exists()]
    # A folder of it that has more than a ledger, as templates, stays.
    paths = [path / DATABASE if path.exists() else path for path in paths]
    if database is not None and database.exists() and database.parent.name != FOLDER:
        is_shared = _is_shared(database.parent, tree, environs)
        paths += [database.parent / name for name in _PUT_ASIDE if is_shared]
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
    folder = file.parent
    is_shared = _is_shared(folder, tree, environs)
    # One that is empty has nothing to be rolled back.
    if is_shared and file.exists() and file.stat().st_size:
        # Where it cannot be made here, a command of the same account cannot make it either.
        for ending in BESIDE[1:]:
            with suppress(OSError):
                os.close(os.open(f"{file}{ending}", os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    beside = [folder / name for name in _BESIDE]
    # In a folder that is worked in, one of these names may be somebody else's.
    own = [path for path in beside if not is_shared or _is_beside(path)]
    return [*sorted(folder.glob(f"{glob.escape(file.name)}*")), *own]


def _is_shared(folder: Path, tree: Path, environs: Iterable[Mapping[str, str]]) -> bool:
    """Return whether a command works in the folder of a database: it is in the tree, or has it, a home or temporary files."""
    needed = [os.path.realpath(path) for path in (tree, tempfile.gettempdir(), *homes_of(environs))]
    return folder.is_relative_to(needed[0]) or any(
        Path(path).is_relative_to(folder) for path in needed
    )


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


def users_of(absent: Iterable[str], since: float) -> dict[str, str]:
    """Return the program outside that uses what has come to be at a path, as `codex, process 7`, for each path of a login that one uses.

    It uses that if it has something of it open, or was started in that home since a time and reads such a login. Nobody tells who made it then.
    """
    present = {
        path: READERS_OF_KEYS[key]
        for path in absent
        for key in KEYS
        if path.endswith(f"/{key}") and os.path.lexists(path)
    }
    users = dict[str, str]()
    if not present or sys.platform == "darwin":
        return users
    for pid in (int(name) for name in procfs.list_names() if name.isdecimal()):
        with suppress(OSError):
            process = look(pid) if procfs.read_owner(str(pid)) == os.getuid() else None
            # A command sees other files: its own programs do not speak for it.
            if process is None or sees_other_files(pid):
                continue
            paths = (procfs.read_link(f"{pid}/cwd"), *procfs.list_links(f"{pid}/fd"))
            home = variables_of(pid).get("HOME", "") if _age(process) <= time.time() - since else ""
            for path, programs in present.items():
                is_reader = bool({process.name, process.script} & {*programs})
                is_its_own = bool(home) and path.startswith(f"{os.path.realpath(home)}/")
                is_open = any(f"{link}/".startswith(f"{path}/") for link in paths)
                if is_open or (is_reader and is_its_own):
                    users.setdefault(path, f"{process.script or process.name}, process {pid}")
    return users


def _age(process: Process) -> float:
    """Return for how many seconds a process has been there."""
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - process.started / ticks_per_second


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
        or not words.isdisjoint(READERS_OF_KEYS[key])
    )


def missed_sockets(execution: Execution, variables: Sequence[str]) -> tuple[str, ...]:
    """Return the variables whose hidden sockets a command seems to have failed for, by what it says."""
    if execution.sandbox == "none" or not execution.exit_code or execution.ended_for:
        return ()
    open_kinds = _kinds_led_to(variables)
    return tuple(
        name
        for name, words in _UNREACHED.items()
        if words.search(execution.output) and not any(name in LEADING[kind] for kind in open_kinds)
    )


def _keys(environs: tuple[Mapping[str, str], ...], exposed: Sequence[str]) -> Iterator[Path]:
    """Return what holds keys. Where only a part of a folder is to be seen, the rest of it is hidden, each thing by itself."""
    homes = homes_of(environs)
    visible = {Path(home, path) for home in homes for path in exposed}
    files = [environ.get(name, "") for environ in environs for name in FILES_OF_LOGINS]
    paths = [Path(home, name) for home in homes for name in KEYS]
    # A path that is not absolute is another file in each folder; `PGSSLKEY` may name a key on a card.
    yield from _around(visible, [*paths, *(Path(file) for file in files if file.startswith("/"))])


def _around(visible: set[Path], paths: list[Path]) -> Iterator[Path]:
    """Return paths without those that are visible; of a folder that one lies in, what else it has."""
    while paths:
        path = paths.pop()
        if path in visible:
            continue
        if any(part.is_relative_to(path) for part in visible) and path.is_dir():
            paths += path.iterdir()
        else:
            yield path


def homes_of(environs: Iterable[Mapping[str, str]]) -> set[str]:
    """Return the homes that variables name, and that of the account."""
    return ({environ.get("HOME", "") for environ in environs} | {_home()}) - {""}


def _home() -> str:
    """Return the home that the system has for this account; empty if it knows of none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def _kinds_led_to(variables: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of sockets that variables lead to."""
    return tuple(kind for kind, names in LEADING.items() if not set(names).isdisjoint(variables))


def _sockets(environs: tuple[Mapping[str, str], ...], variables: Sequence[str]) -> Iterator[Path]:
    """Return the sockets of programs that act for whoever asks, but for the kinds that variables name."""
    open_kinds = _kinds_led_to(variables)
    kinds = [kind for kind in _PROGRAMS_OF if kind not in open_kinds]
    runtime = {environ.get("XDG_RUNTIME_DIR", "") for environ in environs}
    for folder in map(Path, (runtime | {f"/run/user/{os.getuid()}"}) - {""}):
        if _is_private(folder):
            visible = {
                path for path in _entries((folder, folder / "*")) if _matches(path, *open_kinds)
            }
            yield from _around(visible if open_kinds else set(), [folder])
    for kind in kinds:
        for environ in environs:
            yield from _named(kind, environ)
        yield from (
            Path(home, name) for home in homes_of(environs) for name in _OF_HOME.get(kind, ())
        )
    temporary = {"/tmp", "/run/screen", "/run/screens", tempfile.gettempdir()}  # noqa: S108 -- looked at, not written into
    temporary |= {environ.get("TMUX_TMPDIR", "") for environ in environs} - {""}
    folders = [pattern for kind in kinds for pattern in _PROGRAMS_OF[kind].folders]
    for folder in map(Path, temporary):
        for pattern in folders:
            yield from (path for path in folder.glob(pattern) if _is_private(path))
    folders = [*temporary, *(f"{folder}/*" for folder in temporary), *_DAEMONS]
    for path in (*_entries(map(Path, folders)), *_bound_sockets()):
        if _matches(path, *kinds) and path.is_socket():
            yield path


def _named(kind: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """Return where the variables of a kind lead: to sockets, and to cookies."""
    for name in _PROGRAMS_OF[kind].variables:
        match = _LEADS_TO.match(environ.get(name, ""))
        path = Path(match[1]) if match else Path()
        # A variable must not take a file out of the sight of a check.
        if match and (kind == "keys" or path.is_socket() or name in _COOKIES):
            yield path
            if kind == "keys" and _is_private(path.parent):
                # A folder of its own has what belongs to it, too.
                yield path.parent


def _entries(folders: Iterable[Path]) -> Iterator[Path]:
    """Return what lies directly in folders, each given by a pattern."""
    for folder in folders:
        # A folder that goes meanwhile is passed over, which a path of its own does not do.
        yield from map(Path, glob.iglob(f"{folder}/*", include_hidden=True))  # noqa: PTH207 -- as the line above says


def _bound_sockets() -> Iterator[Path]:
    """Return the paths at which programs listen, as far as the kernel tells them."""
    with suppress(OSError):
        for line in Path("/proc/net/unix").read_text("utf-8", "surrogateescape").splitlines():
            path = line.partition(" /")[2]
            if path:
                yield Path(f"/{path}")


@cache
def _pattern(*kinds: str) -> re.Pattern[str]:
    patterns = [pattern for kind in kinds for pattern in _PROGRAMS_OF[kind].sockets]
    names = [re.escape(pattern).replace(r"\*", "[^/]*") for pattern in patterns]
    return re.compile("|".join(re.sub(r"^\[\^/\]\*", ".*", name) for name in names) or "(?!)")


def _matches(path: Path, *kinds: str) -> bool:
    return _pattern(*kinds).fullmatch(str(path)) is not None


def _is_private(folder: Path) -> bool:
    """Return whether a folder is this account's, and closed to others."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    is_closed = stat.S_ISDIR(status.st_mode) and not status.st_mode & _FOR_OTHERS
    return is_closed and status.st_uid == os.getuid()
