"""PDFs as small as they may be, with a line of text on each page."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import pytest

from counterpoint.evidence.documents import pdf


def read_endlessly(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Have the process that reads a PDF never end, and waiting heard often; answer the file in which that process says its number."""
    program, said = folder / "endless", folder / "number"
    program.write_text(
        f'#!/bin/sh\necho $$ > "{said}.part"\nmv "{said}.part" "{said}"\nexec tail -f /dev/null\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(pdf, "_TICK", 0.01)
    return said


def made(*pages: str, packed: bytes | None = None) -> bytes:
    """Answer a PDF with a line of text on each page; packed: what the first page is made of instead."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        drawn = zlib.compress(f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode())
        if packed is not None and not number:
            drawn = packed
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(
            f"<< /Length {len(drawn)} /Filter /FlateDecode >>\nstream\n".encode()
            + drawn
            + b"\nendstream"
        )
    out, places = b"%PDF-1.4\n", list[int]()
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + one + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    return out + end.encode()
