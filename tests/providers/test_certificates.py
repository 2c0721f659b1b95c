"""Providers over TLS: cut off in the middle of an answer, or with a certificate that nobody trusts."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from counterpoint.kernel.errors import CounterpointError, ProviderBusy, ProviderFailed
from counterpoint.providers.wire import Sent, listen_to, trust_store
from fakes.raw_answers import head

EVENT = b'data: {"a": 1}\n\n'


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Answer a file with a key and a certificate for this machine, which it has signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
    )
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = tmp_path / "here.pem"
    path.write_bytes(text + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def address(certificate: Path) -> Iterator[str]:
    """Answer where somebody begins an answer over TLS, and cuts the connection without a word."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            # It may be closed, or whoever comes may not want to speak with it.
            with suppress(OSError):
                peer = context.wrap_socket(server.accept()[0], server_side=True)
                with peer.makefile("rb") as sent:
                    while sent.readline().strip():
                        pass
                    sent.read(1)
                peer.sendall(
                    head().replace(b"\r\n\r\n", b"\r\nContent-Length: 999\r\n\r\n") + EVENT
                )
                socket.socket(fileno=peer.detach()).close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


def asked(address: str, *, is_here: bool = False) -> tuple[CounterpointError, list[Any]]:
    """Answer how a question ends that somebody is asked, and the events that came before."""
    sent = Sent(provider="far", url=address, headers={}, body={}, seconds=20.0, is_here=is_here)
    heard: list[Any] = []

    def hear(_: str, event: Any) -> str:
        heard.append(event)
        return ""

    with pytest.raises(CounterpointError) as caught:
        listen_to(sent, hear, lambda _: None)
    return caught.value, heard


def test_a_connection_that_is_cut_may_be_tried_again(
    address: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told as one that broke off, and what came before was heard."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    fault, heard = asked(address)
    assert isinstance(fault, ProviderBusy)
    assert fault.retryable
    assert "far cannot be reached, or broke off: peer closed connection" in fault.message
    assert heard == [{"a": 1}]


@pytest.mark.parametrize(("is_here", "hint"), [(False, "SSL_CERT_FILE"), (True, "may be http")])
def test_a_certificate_that_nobody_trusts_is_not_tried_again(
    address: str, is_here: bool, hint: str
) -> None:
    """The next try finds the same one: a person has to see to it."""
    fault, heard = asked(address, is_here=is_here)
    assert type(fault) is ProviderFailed
    assert "certificate that is not trusted" in fault.message
    assert hint in fault.hint
    assert heard == []


def test_certificates_are_loaded_once_and_again_when_their_file_changes(
    address: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the system, and those that a person names."""
    loads: list[Any] = []
    load = ssl.SSLContext.load_verify_locations

    def watched(context: ssl.SSLContext, *places: Any) -> None:
        loads.append(places[0])
        load(context, *places)

    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    trust_store(is_from_environment=True)
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", watched)
    fault, _ = asked(address)
    assert "certificate that is not trusted" in fault.message
    fault, _ = asked("https://127.0.0.1:9", is_here=True)
    assert isinstance(fault, ProviderBusy)
    assert loads == []
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    first = trust_store(is_from_environment=True)
    assert trust_store(is_from_environment=True) is first
    certificate.write_bytes(certificate.read_bytes() * 2)
    assert trust_store(is_from_environment=True) is not first
    assert loads == [str(certificate)] * 2
    assert trust_store(is_from_environment=False).get_ca_certs() != first.get_ca_certs()
