"""Which witnesses the settings name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from counterpoint.core.ports.witnesses import Witness
from counterpoint.evidence.witnesses.gitref import open_git
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import InvalidInput, MalformedDocument

_SWITCH: Final = {"on": True, "off": False, "": True}
COSIGNED: Final = "cosigned"
"""The folder of what witnesses elsewhere cosigned, below that of checkpoints."""


def open_witnesses(
    home: Path,
    environ: Mapping[str, str],
    clock: Clock,
    *,
    by_git: str,
    remote: str,
    elsewhere: str,
    checkpoints: Path,
) -> tuple[Witness, ...]:
    """Return every witness of the project in a folder; InvalidInput for a setting that names none.

    by_git: `on` or `off`. remote: the git remote that heads are pushed to; empty for none. elsewhere: those
    that cosign, `VKEY URL` by commas. checkpoints: the folder of checkpoints.
    """
    if by_git not in _SWITCH:
        raise InvalidInput(
            f"COUNTERPOINT_GIT_WITNESS is {by_git[:40]!r}", hint="Set it to `on` or `off`."
        )
    git_witnesses = open_git(home, environ, clock, remote) if _SWITCH[by_git] else ()
    return (*git_witnesses, *_cosigners(elsewhere, checkpoints / COSIGNED))


def _cosigners(setting: str, folder: Path) -> Iterator[Witness]:
    pairs = [pair.split() for pair in setting.split(",") if pair.strip()]
    if not pairs:
        return
    # Loaded here: few have a witness elsewhere.
    from counterpoint.core.ledger.witnesses.cosignature import CosignerKey
    from counterpoint.evidence.witnesses.asking import Address
    from counterpoint.evidence.witnesses.cosigner import Cosigner

    for pair in pairs:
        try:
            vkey, url = pair
            key = CosignerKey.from_text(vkey)
        except (ValueError, MalformedDocument) as fault:
            raise InvalidInput(
                f"COUNTERPOINT_WITNESSES has {' '.join(pair)[:100]!r}",
                hint="Give each witness as `VKEY URL`, as `counterpoint witness` prints it; by commas.",
            ) from fault
        yield Cosigner(key=key, address=Address.from_text(url), folder=folder)
