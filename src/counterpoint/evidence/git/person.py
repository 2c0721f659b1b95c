"""The name of the person that git knows, apart so that few commands ask git."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.kernel.errors import CounterpointError


def git_user_name(folder: Path, environ: Mapping[str, str]) -> str:
    """Return `user.name` as git has it in a folder; empty where it has none, or where git cannot be asked."""
    try:
        answer = GitCall(folder=folder, environ=environ).ask("config", "--get", "user.name")
    except (GitRefused, CounterpointError):
        return ""
    return answer.decode("utf-8", "replace").strip()
