"""Who is at the other end of a Unix socket, as the kernel says it: the person's socket goes by it (common 2.4)."""

from __future__ import annotations

import socket
import struct
import sys
from typing import Final, Protocol

_LINUX_CREDENTIALS: Final = struct.Struct("3i")  # pid, uid, gid
_SOL_LOCAL: Final = 0  # macOS and the BSDs; the module socket names neither constant everywhere
_LOCAL_PEERCRED: Final = 1
_LOCAL_PEERPID: Final = 2  # macOS only
_PID: Final = struct.Struct("=i")
_XUCRED_HEAD: Final = struct.Struct("=II")  # version, uid; groups follow
_XUCRED_BYTES: Final = 76


class HasSocketOptions(Protocol):
    """A socket, or the view of one that asyncio's transports give."""

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes: ...


def peer_user_id(connection: HasSocketOptions) -> int:
    """The user id of the process that connected. Raises OSError when the kernel does not say."""
    if sys.platform == "linux":
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX_CREDENTIALS.size)
        return int(_LINUX_CREDENTIALS.unpack(raw)[1])
    raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
    if len(raw) < _XUCRED_HEAD.size:
        raise OSError("the kernel did not say who connected")
    return int(_XUCRED_HEAD.unpack_from(raw)[1])


def peer_process_id(connection: HasSocketOptions) -> int:
    """The process that connected, which may have ended since; 0 for one that this system does not see.

    Raises OSError when the kernel does not say.
    """
    if sys.platform == "linux":
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX_CREDENTIALS.size)
        return int(_LINUX_CREDENTIALS.unpack(raw)[0])
    raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, _PID.size)
    if len(raw) != _PID.size:
        raise OSError("the kernel did not say who connected")
    return int(_PID.unpack(raw)[0])
