"""One request as it arrives at the gateway's application, and its form in a file."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Final

TOKEN: Final = b"{token}"
"""In a header's value: the token of the agent whose request it is."""
OTHER_TOKEN: Final = b"{other token}"
SESSION: Final = b"{session}"
"""In a header's value: a session of the handshake era that the agent has open. What it is called differs by run."""
OTHER_SESSION: Final = b"{other session}"


@dataclass(frozen=True)
class Request:
    """`chunks` is the body in the pieces in which it comes; `is_broken_off`: the client goes away after them."""

    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    chunks: tuple[bytes, ...]
    is_broken_off: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    def to_json(self) -> str:
        """One line that `from_json` reads."""
        return json.dumps(
            {
                "method": self.method,
                "path": self.path,
                "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in self.headers],
                "chunks": [base64.b64encode(chunk).decode() for chunk in self.chunks],
                "isBrokenOff": self.is_broken_off,
            }
        )

    @classmethod
    def from_json(cls, line: str) -> Request:
        record = json.loads(line)
        headers = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in record["headers"])
        chunks = tuple(base64.b64decode(chunk) for chunk in record["chunks"])
        return cls(record["method"], record["path"], headers, chunks, record["isBrokenOff"])
