"""Pictures of a scene are told by their content (actors/canvas/pictures.py)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.canvas.pictures import NoPicture, picture_begun
from bus.limits import picture_pixels_max
from tests.actors.canvas.board import Board, rectangle
from tests.support.pictures import SVG, data_url, gif, jpeg, png, webp_animated, webp_lossless, webp_lossy

REAL = {
    "image/png": [png(3, 5)],
    "image/jpeg": [jpeg(3, 5), jpeg(3, 5, b"\xff\xe1\xff\xff" + bytes(0xFFFD)), jpeg(3, 5, b"\xff\xff\xfe\x00\x02")],
    "image/gif": [gif(3, 5)],
    "image/webp": [webp_lossy(3, 5), webp_lossless(3, 5), webp_animated(3, 5)],
    "image/svg+xml": [SVG, b"\xef\xbb\xbf" + SVG, b'<?xml version="1.0"?>\n<!DOCTYPE svg><!-- x -->' + SVG],
}


@pytest.mark.parametrize("media_type", REAL)
def test_a_picture_is_what_its_content_is_whatever_it_claims_to_be(media_type: str) -> None:
    """canvas 4.5: by content; the type that is kept is that of the content."""
    for content in REAL[media_type]:
        for claimed in ("image/png", "image/svg+xml", "IMAGE/GIF", "image/x-unknown", 'image/jpeg;a=b;charset="no'):
            words = data_url(content, claimed)
            if '"' in claimed:
                with pytest.raises(NoPicture):
                    picture_begun(words)
                continue
            begun = picture_begun(words)
            assert (begun.media_type, begun.words) == (media_type, data_url(content, media_type))


@pytest.mark.parametrize(
    "words",
    [
        data_url(b"<html><script>alert(1)</script></html>"),
        data_url(b"<html><svg xmlns='http://www.w3.org/2000/svg'/></html>", "image/svg+xml"),
        data_url(b'<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg>&b;</svg>', "image/svg+xml"),
        data_url(SVG.decode().encode("utf-16"), "image/svg+xml"),
        data_url(b"\x1f\x8b\x08" + SVG, "image/svg+xml"),
        data_url(b"%PDF-1.7", "image/png"),
        data_url(png(1, 1), "text/html"),
        "data:image/svg+xml,<svg/>",
        "data:image/png;base64;iVBORw0KGgo=",
        "data:image/png;base64,iVBORw0KGgo\x00",
        'data:image/png;base64,iVBORw0KGgo"onload="',
        "https://example.org/a.png",
        "javascript:alert(1)",
        "",
    ],
)
def test_what_is_no_picture_is_none_whatever_it_claims_to_be(words: str) -> None:
    """canvas 4.5, security 2.14"""
    with pytest.raises(NoPicture):
        picture_begun(words)


SIDE = 60_000
BOMBS = [png(SIDE, SIDE, 0), gif(SIDE, SIDE), gif(1, 1, (SIDE, SIDE)), jpeg(SIDE, SIDE), webp_animated(SIDE, SIDE)]


@pytest.mark.parametrize("bomb", [*BOMBS, webp_lossy(16_383, 16_383), webp_lossless(16_384, 16_384)])
def test_a_picture_of_too_many_pixels_is_refused_by_its_header(bomb: bytes) -> None:
    """security 2.19: pictures by pixel count, before anything is unpacked."""
    with pytest.raises(NoPicture, match="64 megapixels"):
        picture_begun(data_url(bomb))


def test_the_largest_picture_that_is_let_in_has_exactly_the_limit() -> None:
    """security 2.19"""
    side = 8_192
    assert side * side == picture_pixels_max
    assert picture_begun(data_url(png(side, side, 0))).media_type == "image/png"
    with pytest.raises(NoPicture):
        picture_begun(data_url(png(side, side + 1, 0)))


def test_a_picture_whose_size_is_not_told_in_its_beginning_is_none() -> None:
    """security 2.19: else a size could hide behind what is not looked at."""
    for content in (
        *(png(3, 5)[:20], gif(3, 5)[:9], jpeg(3, 5)[:28], webp_lossy(3, 5)[:25], webp_animated(3, 5)[:20]),
        *(jpeg(0, 5), gif(0, 0, (0, 0)), b"RIFF\x00\x00\x00\x00WEBPJUNK" + bytes(40), b"\xff\xd8\xff" + bytes(40)),
    ):
        with pytest.raises(NoPicture, match="without a size"):
            picture_begun(data_url(content))


SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF0000WEBPVP8 ", b"RIFF0000WEBPVP8X", b"<svg ", b"")


@given(st.sampled_from(SIGNATURES), st.binary(max_size=200))
def test_hostile_bytes_are_a_picture_within_bounds_or_none(signature: bytes, content: bytes) -> None:
    """security 2.19: nothing but NoPicture comes out of bytes that anyone chose."""
    try:
        begun = picture_begun(data_url(signature + content))
    except NoPicture:
        return
    assert begun.words == data_url(signature + content, begun.media_type)


def test_an_import_keeps_a_picture_under_its_true_type_and_reports_the_bombs_that_it_leaves_out() -> None:
    """canvas 4.5, security 2.19; an agent's fromScene goes the same way."""
    picture = data_url(png(1, 1), "image/jpeg")
    files = {"pic": {"mimeType": "text/html", "dataURL": picture}, "bomb": {"dataURL": data_url(BOMBS[0])}}
    scene = {"type": "excalidraw", "elements": [rectangle("a")], "files": files}
    board = Board()
    reply = board.answer("canvas_create", {"title": "T", "reason": "r", "fromScene": scene})  # type: ignore[dict-item]
    assert board.take_out()["files"] == {
        "pic": {"id": "pic", "mimeType": "image/png", "dataURL": data_url(png(1, 1), "image/png")}
    }
    assert reply["leftOut"] == [{"id": "bomb", "why": "its file is a picture of more than 64 megapixels"}]
    assert board.bench.reloaded() == board.state
