"""Making the sockets NEXUS listens on: loopback only, or a Unix socket that only this user can reach.

The supervisor makes them and hands them on, so that a restarted gateway keeps its port and waiting clients.
"""

from __future__ import annotations

import errno
import socket
from pathlib import Path
from typing import Final

LOOPBACK: Final = "127.0.0.1"
_backlog: Final = 512


class PortTaken(Exception):
    """Another program listens on the port. The text is for the person."""


def listen_on_port(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1; port 0 takes any free one. Raises PortTaken."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # Without this a port is unusable for a minute after a restart. It does not let two programs listen at once.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((LOOPBACK, port))
        listening.listen(_backlog)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"Port {port} is in use by another program. Choose another with --port, or --port 0 for any free one."
            ) from None
        if error.errno == errno.EACCES:
            raise PortTaken(
                f"Port {port} needs more rights than you have. Choose one above 1023 with --port."
            ) from None
        raise
    return listening


def listen_on_path(path: Path) -> socket.socket:
    """A listening Unix socket, mode 0600. Replaces a left-over socket: call it only while holding the home's lock."""
    if path.is_socket():
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(_backlog)
    except OSError:
        listening.close()
        raise
    return listening


def port_of(listening: socket.socket) -> int:
    """The port a TCP socket listens on."""
    port = listening.getsockname()[1]
    assert isinstance(port, int)
    return port
