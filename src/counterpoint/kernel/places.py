"""Where the ledger of a folder lies, and where its server is met.

One rule for the relay and the server:

1. The tree is the nearest folder upwards that has a `.git`; without one, the nearest folder upwards whose
`.counterpoint` holds a ledger, or else the starting folder itself. A `.counterpoint` without one makes no folder a project's.
As git does, the search stops below the folders of `GIT_CEILING_DIRECTORIES`.
2. The home, where `.counterpoint` lies, is the tree; for a linked worktree it is the main one, so that
all worktrees of a repository share one ledger. Where the main one is bare, it is the folder above if that has a `.git` which leads to
the bare repository, else the repository's own folder, also for who stands in that.
3. The files of the meeting point lie beside the database, or, if that folder cannot be written, or a ledger was there and is none, in a
folder of the user's own: `$XDG_RUNTIME_DIR/counterpoint` if there is one, else `counterpoint-<uid>` in the folder for
temporary files, else, where nobody can write into any of these, `run` in the user's state.
4. One of them is `<prefix>.lost`: one letter for each event of a hook that is in no ledger, and nothing else. Who cannot send one adds
it; the server adds what it has only in memory, and takes away what it has written down or said to be missing. So whatever
dies, nothing is missing silently.
5. Where root has written that another account serves the ledger of a folder (`SERVICES`), that one's socket takes its place. It is named
by the path of the database that was there, and lies where nobody but root writes: nothing in the tree leads agents elsewhere.

The relay imports this, so it is the standard library only, and little of that.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final

FOLDER: Final = ".counterpoint"
DATABASE: Final = "ledger.db"
SOCKET: Final = "unix:"
"""What begins the name of a ledger whose server is of another account: the path of its socket follows."""

SERVICES: Final = "/etc/counterpoint/services"
"""Where it is written which ledgers are served by an account of their own: `NAME.json`, by the name of the database that was there."""
_SERVICE_BYTES: Final = 16_384

FOLDERS: Final = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
"""The variables that say where a person's state, configuration and meeting points lie, if not in the usual folders."""

_HOLDS: Final = (DATABASE, "postgresql-")
"""How the names of files begin by which a folder has a ledger, or is where one on a server is met."""
_GITDIR: Final = "gitdir:"
_OID_DIGITS: Final = 40
_LINK: Final = 10_000
"""Characters that a file of git which leads elsewhere may have."""
LEDGERS: Final = "ledgers"
"""The folder in the user's state that remembers which ledgers were in which place (evidence/trust/known.py)."""
HEADS: Final = "refs/counterpoint/heads"
"""Where a repository has the heads of its ledgers."""
_PACKED_BYTES: Final = 1_000_000
_LONGEST: Final = 504
"""Bytes that the path of a database may have: SQLite takes 512 with `-journal` behind it, counted on Unix."""

LOST_MOST: Final = 1_000_000
"""Lost events that are counted at most, so that their file stays small."""
_TRIES: Final = 20
"""Milliseconds that one waits for the turn to count: whoever keeps it longer keeps nobody from going on."""


class ForeignFolder(Exception):
    """The folder that was to be the user's own is somebody else's; `hint` says what to do."""

    hint = "Set XDG_RUNTIME_DIR to a folder of your own."


def find_tree_and_home(folder: str) -> tuple[str, str]:
    """Return the working tree that a folder lies in, and the folder that has its `.counterpoint`."""
    start = os.path.realpath(folder)
    if tree := _upwards(start, ".git", os.path.exists):
        return tree, _main_tree(tree)
    if bare := _upwards(start, "HEAD", _is_in_bare):
        return bare, bare
    home = _upwards(start, FOLDER, _holds_ledger) or start
    return home, home


def is_project(folder: str) -> bool:
    """Return whether a folder lies in a repository, or in a folder that holds a ledger."""
    tree, home = find_tree_and_home(folder)
    has_git = os.path.exists(os.path.join(tree, ".git")) or is_bare(tree)
    return has_git or _holds_ledger(os.path.join(home, FOLDER))


def find_git_fault(folder: str) -> str:
    """Return why the `.git` of a folder is no repository, with what mends it; empty if it is one, or if there is none.

    Git tells such a folder from one without a repository by nothing, and looks further up.
    """
    mark = os.path.join(folder, ".git")
    if not os.path.lexists(mark):
        return ""
    try:
        fault, cure = (
            _judge_folder(folder, mark) if os.path.isdir(mark) else _judge_link(folder, mark)
        )
    except OSError as error:
        fault = f"{error.filename or mark} cannot be read ({error.strerror})"
        is_denied = isinstance(error, PermissionError)
        cure = "let this account read it" if is_denied else f"mend {mark}, or remove it"
    return fault and f"{fault}: {cure}"


def _judge_folder(folder: str, mark: str) -> tuple[str, str]:
    """Return what is wrong with a `.git` that is a folder, and what mends it; the first is empty if nothing is. OSError."""
    if not os.listdir(mark):
        return f"{mark} is an empty folder", f"run `git init` in {folder}, or remove it"
    lacks = _lacking_in(mark, mark)
    return lacks and f"{mark} {lacks}", f"`git init` in {folder} makes anew what is missing"


def _judge_link(folder: str, mark: str) -> tuple[str, str]:
    """Return what is wrong with a `.git` that leads elsewhere, and what mends it; the first is empty if nothing is. OSError."""
    if not os.path.exists(mark):
        fault = f"{mark} leads to {os.readlink(mark)}, which is not there"
        return fault, "mend that link, or remove it"
    if not _said_in(mark).startswith(_GITDIR):
        fault = f"{mark} is a file and names no repository"
        return fault, f"remove it, then run `git init` in {folder}"
    git = _git_folder(folder)
    lacks = _lacking_in(git, _common_folder(git)) if os.path.isdir(git) else "is not there"
    cure = (
        f"run `git worktree repair {folder}` in the main tree if that was moved,"
        " `git submodule update --init` if this is a submodule, or remove the file"
    )
    return lacks and f"{mark} leads to {git}, which {lacks}", cure


def _lacking_in(git: str, common: str) -> str:
    """Return what a folder of git lacks to be one, as git asks it; empty if it is whole. OSError."""
    head = os.path.join(git, "HEAD")
    if not os.path.lexists(head):
        return "has no HEAD"
    # One that is a link names a branch by that.
    text = _said_in(head) if not os.path.islink(head) else "ref: refs/"
    reference = text.removeprefix("ref:").lstrip()
    is_branch = text != reference and reference.startswith("refs/")
    is_commit = len(text) >= _OID_DIGITS and all(digit in "0123456789abcdef" for digit in text)
    if not (is_branch or is_commit):
        return "has a HEAD that names no branch and no commit"
    for name in ("objects", "refs"):
        if not os.path.isdir(os.path.join(common, name)):
            return f"has no `{os.path.relpath(os.path.join(common, name), git)}`"
    return ""


def is_home_or_above(folder: str, environ: Mapping[str, str]) -> bool:
    """Return whether a folder is the user's home or one that this lies in: where no ledger is begun unasked."""
    resolved = os.path.realpath(folder).rstrip("/")
    home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
    return f"{home}/".startswith(f"{resolved}/")


def find_database(folder: str, db: str) -> str:
    """Return the path of the database of a folder. db: what was asked for: a path, a socket or nothing."""
    if db.startswith(SOCKET):
        return db
    if db:
        return os.path.realpath(os.path.expanduser(db))
    database = os.path.join(find_tree_and_home(folder)[1], FOLDER, DATABASE)
    return find_service_address(database) or database


def find_service_address(database: str) -> str:
    """Return the address of the service that has the ledger of a place in its keeping; empty without one."""
    service = find_service(database)
    return f"{SOCKET}{service['socket']}" if service else ""


def find_service(database: str) -> dict[str, Any]:
    """Return what root has written of the service that has the ledger of a place in its keeping; empty without one."""
    # Hardly any machine has the folder, and only where it is the name is worth its hash.
    if not os.path.isdir(SERVICES):
        return {}
    try:
        descriptor = os.open(service_file(database), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if status.st_uid or status.st_mode & 0o022:
                return {}
            service: dict[str, Any] = json.loads(file.read(_SERVICE_BYTES))
    except (OSError, ValueError):
        return {}
    return service


def service_file(database: str) -> str:
    """Return the file that says which service has the ledger of a place in its keeping."""
    return f"{SERVICES}/{short_name(database)}.json"


def too_long(database: str) -> str:
    """Return why the path of a database is too long for SQLite; empty if it is not."""
    size = len(os.fsencode(os.path.abspath(database)))
    if size <= _LONGEST:
        return ""
    return f"the path of the database has {size} bytes, and SQLite takes at most {_LONGEST}: {database}"


TOO_LONG_HINT: Final = "Keep the ledger at a shorter path: `--db PATH`, for each command and agent."


def find_prefix(database: str) -> str:
    """Return the path that all files of a database's meeting point begin with; ForeignFolder."""
    parent = os.path.dirname(database)
    while not os.path.exists(parent) and parent != os.path.dirname(parent):
        parent = os.path.dirname(parent)
    if os.access(parent, os.W_OK | os.X_OK) and not has_lost_ledger(database):
        return f"{database}-server"
    return f"{open_private(own_folder())}/{short_name(database)}-server"


def has_lost_ledger(database: str) -> bool:
    """Return whether a ledger was at a path where none is: whoever brings it back finds nothing of ours in its way.

    As this account remembers it, or where that remembers nothing the repository; who begins a ledger looks closer.
    """
    if os.path.basename(database).startswith(_HOLDS[1]):
        return False
    with suppress(OSError):
        if os.stat(database).st_size:
            return False
    ledgers = f"{state_folder(os.environ)}/{LEDGERS}"
    if os.path.isdir(ledgers):
        with suppress(OSError), open(f"{ledgers}/{short_name(database)}", "rb") as file:
            # One that is being made is noted before it has a byte, and was none.
            return b'"ledger":' in file.read()
        return False
    folder = os.path.dirname(database)
    if os.path.basename(folder) != FOLDER:
        return False
    home = os.path.dirname(folder)
    return _has_heads(f"{home}/.git") or _has_heads(home)


def _has_heads(repository: str) -> bool:
    if os.path.isdir(f"{repository}/{HEADS}"):
        return True
    try:
        with open(f"{repository}/packed-refs", "rb") as file:
            return f" {HEADS}/".encode() in file.read(_PACKED_BYTES)
    except OSError:
        return False


def add_lost(prefix: str) -> None:
    """Count one event more that is in no ledger; OSError."""
    descriptor = _open_lost(prefix)
    try:
        if os.fstat(descriptor).st_size < LOST_MOST:
            os.write(descriptor, b".")
    finally:
        os.close(descriptor)


def count_lost(prefix: str) -> int:
    """Return how many events are in no ledger."""
    try:
        return os.stat(f"{prefix}.lost").st_size
    except FileNotFoundError:
        return 0


def take_lost(prefix: str, count: int) -> None:
    """Count so many events no more: they are in a ledger, or it says there that they are missing; OSError."""
    descriptor = _open_lost(prefix)
    try:
        os.ftruncate(descriptor, max(0, os.fstat(descriptor).st_size - count))
    finally:
        os.close(descriptor)


def _open_lost(prefix: str) -> int:
    """Return a descriptor of the file of what is lost, when it is one's turn; whoever closes it ends that."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(f"{prefix}.lost", flags, 0o600)
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.001)
        else:
            break
    return descriptor


def own_folder() -> str:
    """Return the path of the user's own folder, for what cannot lie beside a database."""
    runtime_folder = os.environ.get("XDG_RUNTIME_DIR")
    # It is named also where no login has made it, as in a container.
    if runtime_folder and os.path.isdir(runtime_folder):
        return f"{runtime_folder}/counterpoint"
    # Hardly any call needs it, and every start of a relay would pay for it.
    from tempfile import gettempdir

    try:
        temporary = gettempdir()
        # Its last choice is the folder one stands in, which is another one for each process.
        if temporary != os.getcwd() or temporary in {"/tmp", "/var/tmp", os.environ.get("TMPDIR")}:  # noqa: S108 -- it is compared with
            return f"{temporary}/counterpoint-{os.getuid()}"
    except FileNotFoundError:
        pass
    return f"{state_folder(os.environ)}/run"


def state_folder(environ: Mapping[str, str]) -> str:
    """Return where this program keeps state of the user; it does not begin with `/` for an account without a home."""
    state_home = environ.get("XDG_STATE_HOME", "")
    if state_home.startswith("/"):
        return f"{state_home}/counterpoint"
    home = environ.get("HOME") or os.path.expanduser("~")
    below = "Library/Application Support" if sys.platform == "darwin" else ".local/state"
    return f"{home}/{below}/counterpoint"


def config_folder(environ: Mapping[str, str]) -> str:
    """Return where this program keeps what a person has set for all projects, such as keys."""
    config_home = environ.get("XDG_CONFIG_HOME", "")
    # As the specification of these folders says, a path that is not absolute does not count.
    home = (
        config_home
        if config_home.startswith("/")
        else f"{environ.get('HOME') or os.path.expanduser('~')}/.config"
    )
    return f"{home}/counterpoint"


def provider_folder(environ: Mapping[str, str]) -> str:
    """Return where the keys of providers of models lie."""
    return f"{config_folder(environ)}/providers"


def open_private(folder: str) -> str:
    """Return the path of a folder, made unless it is there; ForeignFolder if it is another user's or cannot be made."""
    try:
        os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
    except OSError as fault:
        raise ForeignFolder(f"{folder} cannot be made ({fault.strerror})") from fault
    # Anybody may have laid a folder or a link there before us, since many write to /tmp.
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise ForeignFolder(f"{folder} is a link, or belongs to somebody else")
    if status.st_mode & 0o022:
        raise ForeignFolder(f"others can write {folder}")
    return folder


def short_name(database: str) -> str:
    """Return a name of 24 characters that is no other database's."""
    # `hashlib` loads all of OpenSSL, which would be felt in each agent's relay.
    try:
        hashes = __import__("_sha256" if sys.version_info < (3, 12) else "_sha2")
    except ImportError:
        hashes = __import__("hashlib")
    digest: str = hashes.sha256(os.fsencode(database)).hexdigest()
    return digest[:24]


def _upwards(folder: str, name: str, holds: Callable[[str], bool]) -> str:
    """Return the nearest folder upwards that has the name; empty if none has below a ceiling."""
    ceilings = _ceilings()
    while not holds(os.path.join(folder, name)):
        folder, below = os.path.dirname(folder), folder
        if folder == below or folder in ceilings:
            return ""
    return folder


def _ceilings() -> set[str]:
    """Return the folders that are looked into only by who stands in them, as git reads their list.

    A folder behind an empty part is taken as it is written: to follow links may be slow there.
    """
    ceilings: set[str] = set()
    follow = True
    for part in os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep):
        if not part:
            follow = False
        elif os.path.isabs(part):
            ceilings.add(os.path.realpath(part) if follow else os.path.normpath(part))
    return ceilings


def _main_tree(tree: str) -> str:
    """Return the main tree of a linked worktree; the tree itself if it is none."""
    mark = os.path.join(tree, ".git")
    if os.path.isdir(mark):
        return tree
    git = _git_folder(tree)
    try:
        common = _common_folder(git)
    except OSError:
        return tree
    # A submodule has such a link too, and is a tree of its own.
    if common == git or not _is_linked(tree, git, common):
        return tree
    above = os.path.dirname(common)
    if os.path.basename(common) == ".git" or _git_folder(above) == common:
        return above
    return common


def _is_linked(tree: str, git: str, common: str) -> bool:
    """Return whether a repository has a tree as a linked worktree: a stranger's folder may lead to it, and would get what is trusted of it."""
    if os.path.dirname(git) != os.path.join(common, "worktrees"):
        return False
    try:
        mark = os.path.join(git, _said_in(os.path.join(git, "gitdir")))
    except OSError:
        return True
    owner = os.path.realpath(os.path.dirname(mark))
    # One that was moved is still named by its former place.
    return owner == os.path.realpath(tree) or _git_folder(owner) != git


def _common_folder(git: str) -> str:
    """Return the folder of git that a linked worktree's shares with others; itself if it shares none. OSError."""
    try:
        return os.path.realpath(os.path.join(git, _said_in(os.path.join(git, "commondir"))))
    except FileNotFoundError:
        return git


def _git_folder(tree: str) -> str:
    """Return where the `.git` of a folder leads, if it is a file."""
    try:
        link = _said_in(os.path.join(tree, ".git")).removeprefix(_GITDIR).strip()
    except OSError:
        return ""
    return os.path.realpath(os.path.join(tree, link))


def _said_in(file: str) -> str:
    """Return what a file of git says; neither waits for a pipe nor reads a device to its end. OSError."""
    # A folder is told by its path, and leaves no descriptor behind, only if `open` opens it.
    with open(file, encoding="utf-8", errors="replace", opener=_open_at_once) as read:
        return read.read(_LINK).strip()


def _open_at_once(file: str, flags: int) -> int:
    return os.open(file, flags | os.O_NONBLOCK)


def _holds_ledger(folder: str) -> bool:
    try:
        return any(name.startswith(_HOLDS) for name in os.listdir(folder))
    except OSError:
        # It is not there, or no folder of this account: what lies in it cannot be used either.
        return os.path.exists(os.path.join(folder, DATABASE))


def _is_in_bare(head: str) -> bool:
    return is_bare(os.path.dirname(head))


def is_bare(folder: str) -> bool:
    """Return whether a folder is that of a repository, which then has no tree here."""
    return all(os.path.exists(f"{folder}/{name}") for name in ("HEAD", "objects", "refs"))


def hint_in_bare(folder: str) -> str:
    """Return what to do in a bare repository, where `init` begins nothing; empty for any other folder."""
    return (
        "Run `counterpoint init` in a working tree of it: `git worktree add PATH` makes one, and before its first commit `git clone`."
        if is_bare(folder)
        else ""
    )
