"""Which commands may be run and where models are asked, as a person said.

Rule 1: what loosens is which commands may be run, that any may, and that no sandbox is wanted. A configuration that has any of it
counts only as a person trusted it last, to the letter, with how commands are confined; else nothing is run. So whoever takes `require` or a closed network
out of it has loosened it too. Rule 2: a command may be run that the configuration lists:
the same words, or those before a last `*` and any after them. Rule 3: where it lets free commands be run any other may, too, by
whoever brings no credential, or one with the scope `run`. Rule 4: whoever asks: a check is a command that somebody else wrote.
Rule 5: of models, what loosens is where they are asked (an address, to which keys and texts go, or a command, which is run), what they are
said to cost, that texts are embedded elsewhere, and that they may cost more than the product lets them. Rule 6: of the web, it is where searches are asked for, what they are said to
cost, that pages are fetched at all, from which addresses that are not public, and that a research may cost more than the product lets it.
Rule 7: what a ledger says was trusted counts where this account has trusted just that for this ledger in its place (core/ports/signer.py), for a ledger can come
from anywhere.

An agent can edit the file and the gates of its items; so neither is a person's word, and only what was trusted is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from counterpoint.core.model.access import RUN, Principal
from counterpoint.core.model.models import DAY_LIMIT_MICROS, Modelling
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.web import STUDY_LIMIT_MICROS, Browsing
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json

CHANGED: Final = "counterpoint.toml is not what was trusted last"
ELSEWHERE: Final = "this account has trusted nothing of this ledger here: it was begun elsewhere, or by somebody else"
OLDER: Final = (
    "this ledger is not as it was signed last: an older copy is in its place, or it was cut off"
)
ELSEWHERE_CONFIGURED: Final = "what counterpoint.toml allows was trusted in this ledger, but not by this account in this place"
MOST_NAMED: Final = 5
"""Commands that are named where many lack."""
_ANY: Final = "*"


def loosened(said: Checking, search_path: str) -> str:
    """Return the digest of a configuration that loosens anything; empty for one that does not.

    search_path: the folders that programs are looked for in, which are trusted with it.
    """
    models, web = models_loosened(said.models), web_loosened(said.web)
    exposed = said.home or said.sockets
    if not (said.commands or said.free or said.sandbox == "off" or exposed or models or web):
        return ""
    listed = sorted([*words] for words in said.commands)
    told: dict[str, Json] = {
        "commands": [*listed],
        "free": said.free,
        "sandbox": said.sandbox,
        "network": said.network,
        "path": search_path,
    }
    # What was trusted before there were models, a web, or hidden logins and sockets has no word of them, and stands.
    more: dict[str, Json] = {"models": models, "web": web, "home": sorted(said.home)}
    more["sockets"] = sorted(said.sockets)
    return canonical.sha256(
        canonical.dump(told | {name: part for name, part in more.items() if part})
    )


def models_loosened(said: Modelling) -> dict[str, Json] | None:
    """Return what a configuration of models loosens, with the limits beside it; None if that is nothing."""
    led = [one for one in said.providers if one.address or one.command]
    far = said.embedding
    if not (led or said.prices or far or said.day_limit > DAY_LIMIT_MICROS):
        return None
    told: dict[str, Json] = {
        "providers": [[one.name, one.kind or "", one.address, [*one.command]] for one in led],
        "prices": [[one.model, one.input, one.cached, one.output] for one in said.prices],
        "limits": [said.day_limit, said.limit],
    }
    # What was trusted before texts could be embedded elsewhere has no word of it, and stands.
    return told | ({"embedding": [far.provider, far.kind, far.model]} if far else {})


def web_loosened(said: Browsing) -> dict[str, Json] | None:
    """Return what a configuration of the web loosens; None if that is nothing."""
    led = [one for one in said.searchers if one.address or one.price is not None]
    if not (led or said.fetches or said.hosts or said.study_limit > STUDY_LIMIT_MICROS):
        return None
    return {
        "searchers": [[one.name, one.kind or "", one.address, one.price] for one in led],
        "fetch": said.fetches,
        "hosts": [*said.hosts],
        "limit": said.study_limit,
    }


def is_trusted(said: Checking, trusted: str, search_path: str) -> bool:
    """Return whether what loosens in a configuration, if anything does, is what a person trusted last."""
    return loosened(said, search_path) in {"", trusted}


def allowing_options(commands: Sequence[Sequence[str]]) -> str:
    """Return the options of `counterpoint trust` that let commands be run, of the first few where there are many."""
    # Loaded only for commands that lack: `status` is to start fast.
    import shlex

    return " ".join(f"--allow {shlex.quote(shlex.join(argv))}" for argv in commands[:MOST_NAMED])


def allowing_line(commands: Sequence[Sequence[str]]) -> str:
    """Return what a person types to let commands be run."""
    return f"counterpoint trust {allowing_options(commands)}"


def is_listed(said: Checking, argv: Sequence[str]) -> bool:
    """Return whether a configuration lists a command."""
    return any(_covers(words, argv) for words in said.commands)


def may_be_free(said: Checking, principal: Principal | None, scopes: Collection[str]) -> bool:
    """Return whether somebody may have a command run that is not listed."""
    brings_credential = principal is not None and principal.strength == "credential"
    return said.free and (not brings_credential or RUN in scopes)


def takes_any(words: Sequence[str]) -> bool:
    """Return whether the words of a configured command stand for others behind them."""
    return words[-1] == _ANY


def _covers(words: Sequence[str], argv: Sequence[str]) -> bool:
    if not takes_any(words):
        return tuple(words) == tuple(argv)
    return tuple(argv[: len(words) - 1]) == tuple(words[:-1])
