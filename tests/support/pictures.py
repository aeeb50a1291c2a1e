"""Pictures of the formats that scenes may hold, made byte by byte: real ones, and ones that claim any size."""

from __future__ import annotations

import base64
import struct
import zlib

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9" fill="red"/></svg>'


def data_url(content: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def png(width: int, height: int, rows: int | None = None) -> bytes:
    """A black picture of one bit a pixel. `rows`: how many really are there; a whole one by default."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    packing = zlib.compressobj(9)
    row = bytes(1 + (width + 7) // 8)
    content = b"".join(packing.compress(row) for _ in range(height if rows is None else rows)) + packing.flush()
    chunks = ((b"IHDR", header), (b"IDAT", content), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def gif(width: int, height: int, frame: tuple[int, int] = (1, 1)) -> bytes:
    """The start of an animated gif: colours, two extensions, the first frame."""
    colours = b"\x00\x00\x00\xff\xff\xff"
    loop = b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
    control = b"!\xf9\x04\x00\x0a\x00\x00\x00"
    image = b"," + struct.pack("<HHHH", 0, 0, *frame) + b"\x00\x02\x02L\x01\x00"
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\x00\x00" + colours + loop + control + image + b";"


def jpeg(width: int, height: int, before: bytes = b"") -> bytes:
    """The start of a jpeg. `before` stands in front of its frame: whole segments."""
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00" + before + frame


def webp_lossy(width: int, height: int) -> bytes:
    return _riff(b"VP8 ", b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height))


def webp_lossless(width: int, height: int) -> bytes:
    return _riff(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def webp_animated(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return _riff(b"VP8X", b"\x02\x00\x00\x00" + size)


def _riff(kind: bytes, data: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", len(data) + 12) + b"WEBP" + kind + struct.pack("<I", len(data)) + data
