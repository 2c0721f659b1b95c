"""What Proof takes along: proofs of entries, the bundle, and the page that verifies bundles.

`core/ledger/verify.html` is served as it lies in the package, with the policy that its own head names: no script but the one in it.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from counterpoint.board.forms import read_number
from counterpoint.board.pages import Answer, read_proof
from counterpoint.core import ledger
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Proof
from counterpoint.kernel.errors import InvalidInput, SignerAway

VERIFIER: Final = Path(ledger.__file__).parent / "verify.html"
_POLICY: Final = re.compile(r'<meta http-equiv="content-security-policy" content="([^"]+)">')
_MORE: Final = "; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"


def read_proofs(answer: Answer) -> dict[str, Any]:
    """Return what `read_proof` does, with the key and the proof of the entry that the query names."""
    core, named = answer.core, answer.query.get("entry", "").removeprefix("#")
    proof: Proof | None = None
    why, key = "", ""
    if named:
        number = read_number(named)
        try:
            proof = core.audit.inclusion(number) if number is not None else None
            why = "" if number is not None else "An entry is named by its number."
        except (InvalidInput, SignerAway) as fault:
            why = f"{fault.message}. {fault.hint}"
    with suppress(SignerAway):
        key = core.audit.key.to_text()
    return {
        **read_proof(answer),
        "number": named,
        "proof": proof,
        "proof_why": why,
        "proof_entry": json.dumps(json.loads(proof.entry), indent=1, ensure_ascii=False)
        if proof is not None
        else "",
        "key": key,
    }


def write_bundle(core: Core) -> Path:
    """Return a private temporary file with the bundle of the ledger; what refuses an export."""
    lines = core.audit.export()
    with NamedTemporaryFile(prefix="counterpoint-", suffix=".bundle", delete=False) as file:
        path = Path(file.name)
        try:
            file.writelines(lines)
        except BaseException:
            path.unlink()
            raise
    return path


def load_verifier() -> tuple[bytes, str]:
    """Return the page that verifies bundles, and the content-security policy that it is sent with."""
    content = VERIFIER.read_bytes()
    policy = _POLICY.search(content.decode())
    return content, f"{policy[1]}{_MORE}" if policy is not None else "default-src 'none'"
