"""What is put back after a command that does what it can to keep it: as an account without the rights of root."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from counterpoint.cli.service.accounts import find_account, run_as
from counterpoint.core.model.journal import ASIDE
from counterpoint.evidence.running.guarding import guarded_paths, put_back
from counterpoint.evidence.running.restoring import Restored
from counterpoint.kernel.canonical import Json

NAMES = (".aws", ".cargo/credentials", ".config/gh", ".netrc", ".npmrc")
PLAIN = "echo evil > ~/.npmrc; mkdir -p ~/.aws ~/.config/gh; echo evil > ~/.aws/credentials"
Put = Callable[..., Restored]


def as_person(work: Callable[[], Json]) -> Json:
    """Answer what work comes to as an account that is not root, which rights hold."""
    nobody = find_account("nobody")
    return work() if os.geteuid() or nobody is None else run_as(nobody, work)


@pytest.fixture
def home() -> Iterator[Path]:
    """Give a home that an account other than root can have."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name, "home")
        folder.mkdir()
        Path(name).chmod(0o755)
        if not os.geteuid() and (nobody := find_account("nobody")):
            os.chown(folder, nobody.uid, nobody.gid)
        yield folder


@pytest.fixture
def put(home: Path) -> Put:
    """Answer what prepares a home, runs a script there as a check would, and puts back."""

    def put_(script: str, before: str = "true") -> Restored:
        def work() -> Json:
            def run(text: str) -> None:
                subprocess.run(
                    ("sh", "-c", text), env={"HOME": str(home), "PATH": os.defpath}, check=True
                )

            run(before)
            guarded = guarded_paths(home, {}, [home / name for name in NAMES])
            run(script)
            return [list(part) for part in put_back(guarded, {})]

        parts = as_person(work)
        assert isinstance(parts, list)
        return Restored(*(tuple(part) for part in parts))

    return put_


def present(home: Path) -> set[str]:
    """Answer which logins are there, as root finds them."""
    return {name for name in NAMES if os.path.lexists(home / name)}


@pytest.mark.parametrize(
    ("script", "paths"),
    [
        (PLAIN, [".aws", ".config/gh", ".npmrc"]),
        (f"{PLAIN}; chmod 555 ~/.config ~", [".aws", ".config/gh", ".npmrc"]),
        (f"{PLAIN}; chmod 000 ~/.aws ~/.npmrc ~/.config ~", [".aws", ".config/gh", ".npmrc"]),
        ("mkdir ~/.npmrc; touch ~/.npmrc/x; chmod 0 ~/.npmrc", [".npmrc"]),
        ("mkfifo ~/.npmrc; ln -s / ~/.aws; ln ~/.npmrc ~/.netrc", [".aws", ".netrc", ".npmrc"]),
        ("touch ~/.aws ~/.aws.left-by-a-check; mkdir ~/.aws.left-by-a-check-2", [".aws"]),
        ("mkdir -p ~/a/gh; ln -s a ~/.config; chmod 555 ~/a", [".config"]),
        ("ln -s .config ~/.config; ln -s ~ ~/.cargo; touch ~/credentials", [".cargo", ".config"]),
        ("mkdir ~/.npmrc; cd ~/.npmrc; for n in $(seq 300); do touch $n; done", [".npmrc"]),
        (f"cd; touch .netrc .netrc{ASIDE}; for n in $(seq 2 99); do touch .netrc{ASIDE}-$n; done", [".netrc"]),
    ],
)  # fmt: skip
def test_what_was_not_there_goes_whatever_its_folder_denies(
    put: Put, home: Path, script: str, paths: list[str]
) -> None:
    """Each is found under a name of its own afterwards, and nothing that had such a name is lost."""
    found = put(script)
    assert found.leftovers == ()
    assert sorted(found.paths) == [str(home / path) for path in paths]
    assert all(os.path.lexists(aside) for aside in found.asides)
    assert len({*found.asides}) == len(paths)
    assert not present(home)


def test_a_login_that_a_person_makes_meanwhile_is_never_lost(put: Put, home: Path) -> None:
    """It cannot be told from one that the check made; each stays, under a number."""
    for word in ("one", "two", "three"):
        found = put(f"echo {word} > ~/.npmrc; mkdir ~/.aws; echo {word} > ~/.aws/config")
        assert len(found.asides) == 2
    asides = [f".left-by-a-check{end}" for end in ("", "-2", "-3")]
    words = ["one", "two", "three"]
    assert [(home / f".npmrc{aside}").read_text().strip() for aside in asides] == words
    assert [(home / f".aws{aside}/config").read_text().strip() for aside in asides] == words


def test_links_are_made_as_they_were_wherever_they_are_on_the_way(put: Put, home: Path) -> None:
    before = (
        "mkdir ~/dots ~/more; ln -s dots ~/.config; ln -s ../more/gh ~/dots/gh; ln -s no ~/.netrc"
    )
    script = (
        "rm ~/.config; mkdir -p ~/.config/gh; chmod 0 ~/.config; touch ~/more/gh ~/no; chmod 555 ~"
    )
    found = put(script, before)
    assert (home / ".config").readlink() == Path("dots")
    assert not os.path.lexists(home / "more/gh")
    assert not os.path.lexists(home / "no")
    assert sorted(Path(path).name for path in found.paths) == [".config", "gh", "no"]
    # Where a folder is gone a link cannot be made in it; that is said, and keeps nothing else.
    found = put("touch ~/.npmrc; rm -r ~/dots; ln -s nowhere ~/dots")
    assert str(home / "dots/gh") in "".join(found.leftovers)
    assert not os.path.lexists(home / ".npmrc")


def test_a_link_behind_another_one_is_not_taken_for_what_it_was(put: Put, home: Path) -> None:
    """Its words are the same, and lead to another place, where a login was made."""
    before = "mkdir ~/.config ~/dots; ln -s ../dots/gh ~/.config/gh"
    script = "mkdir -p ~/evil/dots; mv ~/.config ~/evil; ln -s evil/.config ~/.config; echo evil > ~/evil/dots/gh"
    found = put(script, before)
    assert str(home / ".config") in found.paths
    assert not os.path.lexists(home / ".config/gh")
    assert str(home / ".config/gh") in "".join(found.leftovers)


def test_the_folder_of_a_link_to_a_login_stays_where_it_is(home: Path) -> None:
    (home / ".config/deep").mkdir(parents=True)
    (home / ".config/deep/gh").symlink_to("../../dots/gh")
    fixed = guarded_paths(home, {}, [home / ".config/deep/gh"]).fixed
    assert {str(home / ".config"), str(home / ".config/deep")} <= {*fixed}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_what_cannot_be_put_aside_is_said_and_keeps_nothing_else(home: Path) -> None:
    """With the path, the reason and the next step: of others, immutable, and where something is mounted."""
    guarded = guarded_paths(home, {}, [home / name for name in NAMES])
    (home / ".config").mkdir(mode=0o755)
    (home / ".config/gh").touch()
    (home / ".aws").touch()
    (home / ".npmrc").touch()
    undo = []
    with suppress(subprocess.CalledProcessError):
        subprocess.run(("chattr", "+i", str(home / ".aws")), check=True, capture_output=True)
        undo.append(("chattr", "-i", str(home / ".aws")))
    try:
        parts = as_person(lambda: [list(part) for part in put_back(guarded, {})])
    finally:
        for words in undo:
            subprocess.run(words, check=True)
    assert isinstance(parts, list)
    found = Restored(*(tuple(part) for part in parts))
    foreign = next(text for text in found.leftovers if text.startswith(str(home / ".config/gh")))
    assert "have root move it away" in foreign
    assert str(home / ".npmrc") in found.paths
    if undo:
        (immutable,) = (text for text in found.leftovers if text.startswith(str(home / ".aws")))
        assert "another account" in immutable or "chattr -i" in immutable
