"""The database of a folder and its meeting point, where the relay and the server both look."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from builders import git
from counterpoint.app import open_app
from counterpoint.evidence.places import find_places
from counterpoint.evidence.trust.known import open_trusted
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import InvalidInput, Unavailable
from counterpoint.kernel.places import (
    ForeignFolder,
    add_lost,
    count_lost,
    find_database,
    find_git_fault,
    find_prefix,
    find_tree_and_home,
    has_lost_ledger,
    open_private,
    own_folder,
    short_name,
    state_folder,
    take_lost,
)
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.relay.server import Refused, open_server
from counterpoint.relay.start import main as relay

Situation = tuple[Path, Path, Path]
"""Where one stands, the working tree that is, and the home of its ledger."""


def repository(folder: Path) -> Path:
    """Make a repository with one commit."""
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def below(folder: Path) -> Path:
    """Make a folder deep below another."""
    made = folder / "deep" / "below"
    made.mkdir(parents=True)
    return made


def in_nothing(folder: Path) -> Situation:
    """Stand in a folder without repository and ledger."""
    return folder, folder, folder


def in_a_repository(folder: Path) -> Situation:
    """Stand below the top of a repository."""
    made = repository(folder / "main")
    return below(made), made, made


def in_a_worktree(folder: Path) -> Situation:
    """Stand below a linked worktree that lies outside of its repository."""
    main = repository(folder / "main")
    git(main, "worktree", "add", "-q", str(folder / "linked"))
    return below(folder / "linked"), folder / "linked", main


def in_a_submodule(folder: Path) -> Situation:
    """Stand in a repository that is a part of another one."""
    inner, outer = repository(folder / "inner"), repository(folder / "outer")
    allowed = ("-c", "protocol.file.allow=always")
    git(outer, *allowed, "submodule", "add", "-q", str(inner), "part")
    return outer / "part", outer / "part", outer / "part"


def below_a_ledger(folder: Path) -> Situation:
    """Stand below a folder that has a ledger and no repository."""
    (folder / ".counterpoint").mkdir()
    (folder / ".counterpoint" / "ledger.db").touch()
    return below(folder), folder, folder


def below_a_ledger_on_a_server(folder: Path) -> Situation:
    """Stand below a folder whose ledger is on a server, and which has its files only."""
    (folder / ".counterpoint").mkdir()
    (folder / ".counterpoint" / "postgresql-0123456789abcdef-server.lock").touch()
    return below(folder), folder, folder


def below_a_folder_of_the_name(folder: Path) -> Situation:
    """Stand below folders that are named as if they had a ledger, and have none."""
    (folder / ".counterpoint").mkdir()
    deep = below(folder)
    (deep.parent / ".counterpoint" / "templates").mkdir(parents=True)
    return deep, deep, deep


def behind_a_link(folder: Path) -> Situation:
    """Stand in a repository that was reached through a link."""
    real = repository(folder / "real")
    (folder / "link").symlink_to(below(real))
    return folder / "link", real, real


def in_a_torn_tree(folder: Path) -> Situation:
    """Stand in a tree whose `.git` names what is not there."""
    (folder / ".git").write_text("gitdir: /nowhere/at/all\n")
    return folder, folder, folder


def in_a_bare_worktree(folder: Path) -> Situation:
    """Stand in a worktree of a repository that has no tree of its own."""
    main = repository(folder / "main")
    git(folder, "clone", "-q", "--bare", str(main), str(folder / "bare"))
    git(folder / "bare", "worktree", "add", "-q", str(folder / "linked"))
    return folder / "linked", folder / "linked", folder / "bare"


def in_a_bare_repository(folder: Path) -> Situation:
    """Stand in a repository that has no tree of its own."""
    in_a_bare_worktree(folder)
    return folder / "bare" / "objects", folder / "bare", folder / "bare"


def beside_a_bare_repository(folder: Path) -> Situation:
    """Stand in a worktree beside a bare repository, in a folder whose `.git` leads to it."""
    main = repository(folder / "main")
    git(folder, "clone", "-q", "--bare", str(main), str(folder / "work" / ".bare"))
    (folder / "work" / ".git").write_text("gitdir: ./.bare\n")
    git(folder / "work", "worktree", "add", "-q", str(folder / "work" / "linked"))
    return folder / "work" / "linked", folder / "work" / "linked", folder / "work"


def above_its_worktrees(folder: Path) -> Situation:
    """Stand in the folder that has the bare repository and the worktrees."""
    _, _, home = beside_a_bare_repository(folder)
    return home, home, home


@pytest.mark.parametrize(
    "situation",
    [
        in_nothing,
        in_a_repository,
        in_a_worktree,
        in_a_submodule,
        below_a_ledger,
        below_a_ledger_on_a_server,
        below_a_folder_of_the_name,
        behind_a_link,
        in_a_torn_tree,
        in_a_bare_worktree,
        in_a_bare_repository,
        beside_a_bare_repository,
        above_its_worktrees,
    ],
)
def test_relay_and_product_find_one_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, situation: Callable[[Path], Situation]
) -> None:
    """Wherever one stands: a folder, below it, a linked worktree, a submodule, no repository."""
    place, tree, home = situation(tmp_path.resolve())
    monkeypatch.chdir(place)
    found = find_database(str(Path.cwd()), "")
    assert found == str(home / ".counterpoint" / "ledger.db")
    assert found == str(open_app(Path.cwd(), {}).database)
    assert find_places(place).tree == tree
    assert find_prefix(found) == str(find_rendezvous(Path(found)).prefix) == f"{found}-server"


@pytest.mark.parametrize(
    ("ceilings", "is_found"),
    [
        ("", True),
        ("{top}", True),
        ("{top}/main", False),
        ("{top}/main/deep", False),
        ("{top}/main/deep/below", True),
        ("{top}/main/de", True),
        ("main/deep", True),
        ("{top}/link/deep", False),
        (":{top}/link/deep", True),
        ("{top}/other:{top}/main/", False),
    ],
)
def test_the_search_upwards_ends_where_that_of_git_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ceilings: str, is_found: bool
) -> None:
    """A folder of GIT_CEILING_DIRECTORIES is no tree for who stands below it, with a repository or a ledger."""
    main = repository(tmp_path / "main")
    (tmp_path / "link").symlink_to(main)
    place = below(main)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", ceilings.format(top=tmp_path.resolve()))
    listed = subprocess.run(["git", "rev-parse"], cwd=place, capture_output=True, check=False)
    assert (listed.returncode == 0) == is_found
    assert (find_tree_and_home(str(place))[0] == str(main)) == is_found
    assert find_tree_and_home(str(main)) == (str(main), str(main))
    (main / ".git").rename(tmp_path / "gone")
    (main / ".counterpoint").mkdir()
    (main / ".counterpoint" / "ledger.db").touch()
    assert (find_tree_and_home(str(place))[1] == str(main)) == is_found


@pytest.mark.parametrize("db", ["here.db", "../there.db", "~/mine.db", "/far/away.db"])
def test_relay_and_product_understand_a_path_alike(tmp_path, monkeypatch, db):
    """A path may be relative, or begin with the home folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = find_database(str(Path.cwd()), db)
    assert found == str(Path(db).expanduser().resolve())
    assert found == str(open_app(Path.cwd(), {}, db=db).database)


@pytest.mark.parametrize("given", [True, False])
def test_a_folder_that_cannot_be_written_has_its_meeting_point_elsewhere(
    tmp_path, monkeypatch, given
):
    """It lies in a folder of the user's own, with a name made from the database's path."""
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(own))
    if given:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(own))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = find_prefix("/far/away.db")
    assert found == str(find_rendezvous(Path("/far/away.db")).prefix)
    folder = "counterpoint" if given else f"counterpoint-{os.getuid()}"
    assert Path(found).parent == own / folder
    assert Path(found).parent.stat().st_mode & 0o777 == 0o700


def test_a_folder_for_sockets_is_found_where_none_is_given(tmp_path, monkeypatch):
    """The one that is named may not be there, and the one for temporary files may take nothing."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "never-made"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert own_folder() == f"{tmp_path}/counterpoint-{os.getuid()}"
    monkeypatch.chdir(tmp_path)
    assert own_folder() == f"{tmp_path}/state/counterpoint/run"
    assert Path(open_private(own_folder())).is_dir()
    with pytest.raises(ForeignFolder, match="cannot be made"):
        open_private("/dev/null/counterpoint")


def test_a_path_that_is_no_text_is_refused_in_words(tmp_path, monkeypatch):
    """The relay leaves it to the command line, which has them."""
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    place.mkdir()
    monkeypatch.chdir(place)
    with pytest.raises(InvalidInput, match="not UTF-8"):
        open_app(Path.cwd(), {})
    assert relay([], {}) is None


def test_a_project_that_was_moved_is_not_begun_again_in_its_old_place(tmp_path):
    """An agent that calls on is told, and no folder is made."""
    gone = tmp_path / "gone" / ".counterpoint" / "ledger.db"
    with pytest.raises(Refused, match="not there any more"):
        open_server(str(gone), b"")
    assert list(tmp_path.iterdir()) == []


def test_somebody_elses_folder_is_no_meeting_point(tmp_path, monkeypatch):
    """A link that another user laid there is refused by both sides."""
    (tmp_path / "counterpoint").symlink_to("/")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ForeignFolder, match="somebody else"):
        find_prefix("/far/away.db")
    with pytest.raises(Refused, match="somebody else") as refused:
        open_server("/far/away.db", b"")
    assert "XDG_RUNTIME_DIR" in refused.value.hint
    with pytest.raises(Unavailable, match="somebody else"):
        find_rendezvous(Path("/far/away.db"))


@pytest.mark.parametrize(
    ("environ", "platform", "folder"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/ada"}, "darwin", "/state/counterpoint"),
        ({"XDG_STATE_HOME": "state", "HOME": "/ada"}, "linux", "/ada/.local/state/counterpoint"),
        ({"HOME": "/ada"}, "darwin", "/ada/Library/Application Support/counterpoint"),
    ],
)
def test_the_state_of_a_user_has_one_folder(monkeypatch, environ, platform, folder):
    """Where the system keeps such, unless an absolute one is set."""
    monkeypatch.setattr("sys.platform", platform)
    assert state_folder(environ) == folder


def test_what_is_lost_is_counted_and_taken_away(tmp_path: Path) -> None:
    """By a letter each, in a file that nobody else reads."""
    prefix = str(tmp_path / "ledger.db-server")
    assert count_lost(prefix) == 0
    for _ in range(3):
        add_lost(prefix)
    assert (count_lost(prefix), (tmp_path / "ledger.db-server.lost").read_bytes()) == (3, b"...")
    assert (tmp_path / "ledger.db-server.lost").stat().st_mode & 0o777 == 0o600
    take_lost(prefix, 2)
    assert count_lost(prefix) == 1
    take_lost(prefix, 5)
    assert count_lost(prefix) == 0


def test_no_more_is_counted_than_the_file_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it stays small, however long no server comes."""
    monkeypatch.setattr("counterpoint.kernel.places.LOST_MOST", 2)
    prefix = str(tmp_path / "x")
    for _ in range(3):
        add_lost(prefix)
    assert count_lost(prefix) == 2


def test_whoever_keeps_the_file_of_what_is_lost_keeps_nobody(tmp_path: Path) -> None:
    """An agent waits for the end of this: what is counted then is counted without a turn."""
    prefix = str(tmp_path / "x")
    add_lost(prefix)
    with Path(f"{prefix}.lost").open("rb") as kept:
        fcntl.flock(kept, fcntl.LOCK_EX)
        add_lost(prefix)
    assert count_lost(prefix) == 2


def test_many_at_once_are_all_counted(tmp_path: Path) -> None:
    """While some of them are taken away."""
    prefix = str(tmp_path / "x")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: add_lost(prefix), range(400)))
    take_lost(prefix, 100)
    assert count_lost(prefix) == 300


def test_who_has_no_folder_for_temporary_files_has_one_in_his_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As where nobody can write into any of those that a system has."""

    def none() -> str:
        raise FileNotFoundError

    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.gettempdir", none)
    assert own_folder() == f"{tmp_path}/counterpoint/run"


def cut_head(tree: Path) -> None:
    """Take the HEAD away."""
    (tree / ".git" / "HEAD").unlink()


def empty_head(tree: Path) -> None:
    """Leave a HEAD that a power cut has emptied."""
    (tree / ".git" / "HEAD").write_text("")


def make_head_a_folder(tree: Path) -> None:
    """Put a folder in the place of HEAD."""
    cut_head(tree)
    (tree / ".git" / "HEAD").mkdir()


def cut_objects(tree: Path) -> None:
    """Take the objects away."""
    shutil.rmtree(tree / ".git" / "objects")


def empty_git(tree: Path) -> None:
    """Leave an empty folder."""
    shutil.rmtree(tree / ".git")
    (tree / ".git").mkdir()


def write_mark(tree: Path, text: str) -> None:
    """Put a file in the place of `.git`."""
    shutil.rmtree(tree / ".git")
    (tree / ".git").write_text(text)


def link_mark(tree: Path) -> None:
    """Put a link that leads nowhere in the place of `.git`."""
    shutil.rmtree(tree / ".git")
    (tree / ".git").symlink_to(tree.parent / "gone")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (cut_head, ("has no HEAD", "`git init`")),
        (empty_head, ("names no branch", "`git init`")),
        (cut_objects, ("has no `objects`", "`git init`")),
        (empty_git, ("is an empty folder", "`git init`", "remove it")),
        (partial(write_mark, text="gitdir: /gone/x\n"), ("leads to /gone/x", "worktree repair")),
        (partial(write_mark, text="nonsense"), ("names no repository", "remove it")),
        (link_mark, ("/gone, which is not there", "remove it")),
        (make_head_a_folder, ("/.git/HEAD cannot be read (Is a directory)", "mend", "remove it")),
    ],
)
def test_a_git_that_is_no_repository_is_told_with_what_mends_it(
    tmp_path: Path, damage: Callable[[Path], None], words: tuple[str, ...]
) -> None:
    """Git finds none there either; what it finds whole is."""
    tree = repository(tmp_path / "tree")
    assert find_git_fault(str(tree)) == ""
    damage(tree)
    asked = ["git", "-C", str(tree), "rev-parse", "--git-dir"]
    assert subprocess.run(asked, capture_output=True, check=False).returncode
    fault = find_git_fault(str(tree))
    assert fault.startswith(str(tree / ".git"))
    for word in words:
        assert word in fault


@pytest.mark.parametrize("name", [".git", ".git/HEAD"])
def test_a_git_that_this_account_may_not_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With the file and the words of the system; root reads all, so it looks as another account."""
    tree = repository(tmp_path / "tree")
    monkeypatch.chdir(tree)
    Path(name).chmod(0)
    is_root = not os.geteuid()
    try:
        if is_root:
            os.seteuid(65_534)
        fault = find_git_fault(".")
    finally:
        if is_root:
            os.seteuid(0)
        Path(name).chmod(0o700)
    assert fault == f"./{name} cannot be read (Permission denied): let this account read it"


def test_what_git_takes_for_a_repository_is_no_fault(tmp_path: Path) -> None:
    """A folder without one, a detached HEAD, packed branches, a linked worktree, a submodule, a bare repository and its worktree."""
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "../linked", "-b", "b")
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(main), "sub")
    git(main, "pack-refs", "--all")
    git(main, "clone", "-q", "--bare", ".", "../bare")
    git(tmp_path / "bare", "worktree", "add", "-q", "--detach", "../apart")
    (tmp_path / "plain").mkdir()
    for name in ("main", "linked", "main/sub", "bare", "apart", "plain"):
        assert find_git_fault(str(tmp_path / name)) == ""


def test_a_worktree_whose_main_tree_was_moved_is_told(tmp_path: Path) -> None:
    """The named command mends it; it is one project again."""
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "../linked", "-b", "b")
    moved = main.rename(tmp_path / "moved")
    linked = tmp_path / "linked"
    assert f"`git worktree repair {linked}` in the main tree" in find_git_fault(str(linked))
    git(moved, "worktree", "repair", str(linked))
    assert find_git_fault(str(linked)) == ""
    assert find_tree_and_home(str(linked)) == (str(linked), str(moved))
    common = moved / ".git" / "worktrees" / "linked" / "commondir"
    common.unlink()
    common.mkdir()
    assert find_tree_and_home(str(linked)) == (str(linked), str(linked))


@pytest.mark.parametrize("where", ["linked", "own"])
def test_a_folder_that_leads_to_a_repository_unasked_is_no_worktree_of_it(
    tmp_path: Path, where: str
) -> None:
    """An archive can say that it belongs to a repository beside it: what is trusted there would be run in it."""
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "../linked", "-b", "b")
    linked = tmp_path / "linked"
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    mark = main / ".git/worktrees/linked"
    if where == "own":
        shutil.copytree(mark, foreign / "git")
        (foreign / "git/commondir").write_text("../../main/.git\n")
        (foreign / "git/gitdir").write_text(f"{foreign}/.git\n")
        mark = foreign / "git"
    (foreign / ".git").write_text(f"gitdir: {os.path.relpath(mark, foreign)}\n")
    assert git(foreign, "log", "--format=%s").strip() == "first"
    assert find_tree_and_home(str(foreign)) == (str(foreign), str(foreign))
    assert find_tree_and_home(str(linked)) == (str(linked), str(main))
    # Of one whose way back cannot be read nothing says that it is another's.
    back = main / ".git/worktrees/linked/gitdir"
    kept = back.rename(back.with_name("kept"))
    assert find_tree_and_home(str(linked)) == (str(linked), str(main))
    kept.rename(back)
    # A worktree that a person moves is still one, also before git is told.
    moved = linked.rename(tmp_path / "moved")
    assert find_tree_and_home(str(moved)) == (str(moved), str(main))


@pytest.mark.parametrize(
    ("names", "text", "expected"),
    [
        ((), "", False),
        (("repo/.git/refs/counterpoint/heads/",), "", True),
        (("repo/refs/counterpoint/heads/",), "", True),
        (("repo/.git/packed-refs",), "1 refs/heads/main\n", False),
        (("repo/.git/packed-refs",), "1 refs/counterpoint/heads/2\n", True),
        (("repo/.git/refs/counterpoint/heads/", "state/counterpoint/ledgers/"), "", False),
    ],
)
def test_a_repository_tells_of_the_ledger_that_was_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    text: str,
    expected: bool,
) -> None:
    """By the heads that lie in it, loose or packed, where this account remembers no ledger at all."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            (tmp_path / name).mkdir(parents=True)
        else:
            (tmp_path / name).write_text(text)
    database = tmp_path / "repo" / ".counterpoint" / "ledger.db"
    assert has_lost_ledger(str(database)) is expected
    assert not has_lost_ledger(str(database.parents[1] / "else" / "ledger.db"))


def test_a_database_has_one_name_on_each_build_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some have no hash of their own, only that of OpenSSL."""
    expected = hashlib.sha256(b"/a/ledger.db").hexdigest()[:24]
    assert short_name("/a/ledger.db") == expected
    for module in ("_sha256", "_sha2"):
        monkeypatch.setitem(sys.modules, module, None)
    assert short_name("/a/ledger.db") == expected


def test_a_ledger_that_is_being_made_is_none_that_was_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is noted before it has a byte: a server that took it for lost left its first caller without an answer."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    database = tmp_path / ".counterpoint/ledger.db"
    place = open_trusted(str(database), SystemClock())
    place.make()
    assert not has_lost_ledger(str(database))
    assert place.known is not None
    place.known.trust("demo", "ledger-1", "2026-01-01T00:00:00.000Z", "")
    assert has_lost_ledger(str(database))
