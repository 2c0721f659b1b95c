"""What `audit export` writes for other tools, with the key of this account's own signer."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from counterpoint.app import App
from counterpoint.core.model.journal import Receipt

Call = Callable[..., Any]


def opened(text: str, verifier_key: str) -> Any:
    """Answer the statement in an envelope that securesystemslib verifies with the key that is shown."""
    public = base64.b64decode(verifier_key.split("+", 2)[2])[1:]
    key = SSlibKey(verifier_key, "ed25519", "ed25519", {"public": public.hex()})
    envelope = Envelope.from_dict(json.loads(text))
    assert envelope.verify([key], 1)
    return json.loads(envelope.payload)


def test_a_receipt_and_a_verdict_are_exported_signed_with_who_it_was(app: App, call: Call) -> None:
    """To the output and to a file; names are labels, and the principal stands beside them."""
    with app.store.reading(app.project) as view:
        (receipt,) = view.select(Receipt)
    said = call("audit", "export", "--receipt", receipt.id)
    assert said.code == 0, said.err
    key = call("audit", "verify", "--json").json["key"]
    predicate = opened(said.out, key)["predicate"]
    told = predicate["configuration"][0]["annotations"]
    place = told["entry"]["sequence"]
    entries = call("log", "--action", "check.passed", "--json").json["entries"]
    (actor,) = (entry["actor"] for entry in entries if entry["sequence"] == place)
    assert (told["agent"], told["principal"]) == (actor["name"], actor["principal"])
    assert actor["principal"]["strength"] == "connection"

    rejected = call("reject", "HARBOUR-4", "--reason", "no", "--json")
    verdict = rejected.json["verdict"]["id"]
    assert call("audit", "export", "--verdict", verdict, "review.json").code == 0
    predicate = opened(Path("review.json").read_text(), key)["predicate"]
    assert predicate["decision"] == "reject"
    last = call("log", "--limit", "1", "--json").json["entries"][0]
    assert predicate["principal"] == last["actor"]["principal"]
    assert call("audit", "export", "--receipt", "HARBOUR-x9").code == 1
