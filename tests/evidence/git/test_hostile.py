"""A repository starts nothing by what its configuration names, whatever is asked of it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from builders import git
from counterpoint.core.model.trust.heads import SignedHead
from counterpoint.evidence.git.branches import read_branch, read_head
from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.git.tracked import refuse_tracked
from counterpoint.evidence.local import LocalEvidence
from counterpoint.evidence.witnesses.gitref import open_git
from counterpoint.evidence.witnesses.trailers import read_trailers
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import CounterpointError, ProgramMissing
from fakes.repositories import Repo

NAMED = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.pager"),
    *("core.editor", "core.alternateRefsCommand", "diff.external", "credential.helper"),
    *("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "sequence.editor"),
    *("filter.a=b.clean", "filter.a=b.smudge", "filter.p.process", "diff.a=b.command"),
    *("diff.a=b.textconv", "merge.a=b.driver", "remote.origin.uploadpack"),
    *("remote.origin.receivepack", "credential.https://example.org.helper", "hook.x.command"),
    *("pager.log", "pager.diff", "trailer.x.command", "uploadpack.packObjectsHook"),
)


@pytest.fixture
def hostile(repo: Repo, tmp_path: Path) -> tuple[Repo, Path]:
    """Answer a repository in which everything that can be started leaves a mark, and where."""
    marks = tmp_path / "marks"
    marks.mkdir()
    program = tmp_path / "evil"
    program.write_text(
        f'#!/bin/sh\ntouch "{marks}/$(echo "$@" | tr -c a-z0-9\\\\n _ | cut -c1-60)_"\ncat\n'
    )
    program.chmod(0o755)
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(repo.root, "remote", "add", "origin", str(remote))
    (repo.root / ".gitattributes").write_text(
        "*.txt filter=a=b diff=a=b merge=a=b\n*.bin filter=p\n"
    )
    (repo.root / "x.bin").write_text("1")
    git(repo.root, "add", ".")
    git(repo.root, "commit", "-qm", "attributes")
    for name in NAMED:
        said = f"!{program} {name}" if "helper" in name else f"{program} {name}"
        git(repo.root, "config", name, said)
    more = {
        "hook.x.event": "reference-transaction", "alias.status": f"!{program} alias", "commit.gpgSign": "true",
        "log.showSignature": "true", "push.gpgSign": "if-asked", "filter.p.required": "true",
        "protocol.ext.allow": "always", "remote.lazy.url": f"ext::{program} lazy", "remote.lazy.promisor": "true",
        "extensions.partialClone": "lazy", "core.repositoryFormatVersion": "1", "core.hooksPath": str(tmp_path / "hooks"),
        "fetch.recurseSubmodules": "true", "submodule.a.update": f"!{program} submodule",
    }  # fmt: skip
    for name, said in more.items():
        git(repo.root, "config", name, said)
    for folder in (tmp_path / "hooks", repo.root / ".git" / "hooks", remote / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in ("post-index-change", "pre-push", "reference-transaction", "pre-receive", "update",
                     "post-receive", "post-update", "proc-receive", "fsmonitor-watchman", "post-checkout"):  # fmt: skip
            hook = folder / name
            hook.write_text(f'#!/bin/sh\ntouch "{marks}/hook_{name}"\ncat >/dev/null\n')
            hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    # The marks that the making of all this has left.
    for mark in marks.iterdir():
        mark.unlink()
    return repo, marks


def test_no_program_that_a_repository_names_is_started(hostile: tuple[Repo, Path]) -> None:
    """Looks, comparisons, branches, witnesses here and at a remote, an object that is missing."""
    repo, marks = hostile
    root, environ = repo.root, repo.environ
    evidence = LocalEvidence(clock=SystemClock(), environ=environ)
    start = evidence.snapshot(root)
    (root / "a.txt").write_text("changed\n")
    (root / "x.bin").write_text("2")
    (root / "fresh.txt").write_text("3\n")
    changed = {change.path for change in evidence.compare(root, start).changes}
    assert changed == {"a.txt", "x.bin", "fresh.txt"}
    read_branch(root, "", "main", environ=environ, limit=1_000_000)
    read_head(root, "", environ=environ)
    read_trailers(root, environ, "demo")
    refuse_tracked(root / "kept.db", environ)
    head = SignedHead(
        size=1, root=b"", epoch=1, note="demo\n1\n\n", time="2026-11-01T00:00:00.000Z"
    )
    for witness in open_git(root, environ, SystemClock(), remote="origin"):
        witness.keep("demo", head, lambda *_: [])
        assert witness.ask("demo", head, lambda *_: [])
    call = GitCall(folder=root, environ=environ)
    for asked in (("cat-file", "-p", "1" * 40), ("rev-list", "--objects", "--all"), ("ls-remote", "lazy"),
                  ("show", "--format=%G?", "HEAD")):  # fmt: skip
        call.agrees(*asked)
    assert sorted(mark.name for mark in marks.iterdir()) == []


def test_what_the_user_has_configured_runs_on(hostile: tuple[Repo, Path]) -> None:
    """A filter of the user's own files says what counts as content, also where the repository names one alike."""
    repo, marks = hostile
    Path(repo.environ["GIT_CONFIG_GLOBAL"]).write_text('[filter "a=b"]\n\tclean = tr a-z A-Z\n')
    call = GitCall(folder=repo.root, environ=repo.environ)
    (repo.root / "a.txt").write_text("quiet\n")
    shown = call.ask("diff", "--no-ext-diff", "--no-textconv", "HEAD", "--", "a.txt")
    assert b"+QUIET" in shown
    assert list(marks.iterdir()) == []


def test_a_setting_that_is_included_later_is_found(repo: Repo, tmp_path: Path) -> None:
    """Also by a file that was missing when it was looked for, and by one that changes within the tick of a clock."""
    call = GitCall(folder=repo.root, environ=repo.environ)
    mark, more = tmp_path / "mark", tmp_path / "more"
    git(repo.root, "config", "include.path", str(more))
    (repo.root / ".gitattributes").write_text("*.txt filter=late\n")
    (repo.root / "a.txt").write_text("other\n")
    call.ask("status")
    more.write_text(f'[filter "late"]\n\tclean = "touch {mark}; cat"\n')
    call.ask("diff", "HEAD")
    git(repo.root, "config", "--unset", "include.path")
    call.ask("diff", "HEAD")
    git(repo.root, "config", "filter.late.clean", f"touch {mark}; cat")
    call.ask("diff", "HEAD")
    assert not mark.exists()


def test_a_git_that_takes_no_settings_is_refused(repo: Repo, tmp_path: Path) -> None:
    """One that is too old for that would start what the repository names."""
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\nexit 0\n")
    old.chmod(0o755)
    call = GitCall(folder=repo.root, environ={**repo.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"})
    with pytest.raises(ProgramMissing, match="does not take settings"):
        call.ask("status")
    with pytest.raises((GitRefused, CounterpointError)):
        call.ask("status")
