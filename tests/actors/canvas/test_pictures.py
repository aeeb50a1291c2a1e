"""Pictures of a scene are told by their content (actors/canvas/pictures.py)."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.canvas.pictures import NoPicture, picture_begun, picture_goes_on
from bus.limits import picture_pixels_max
from bus.value import Record
from tests.actors.canvas.board import Board, rectangle
from tests.support.pictures import SVG, data_url, gif, jpeg, png, webp_animated, webp_lossless, webp_lossy
from tools.canvas.scene_parts import content_bytes

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


WHOLE = data_url(png(1, 1) + b"\x00" * 200_000)
"""Four pieces."""
FAULTS = ["<script>alert(1)</script>", "\u00e9\x00", "AA==AA", "=A", "===", '"onload="', "\n"]


def _scene_with(picture: str) -> Record:
    other: Record = {"dataURL": data_url(png(2, 2))}
    files: Record = {"pic": {"dataURL": picture}, "other": other}
    return {"type": "excalidraw", "elements": [rectangle("a")], "files": files}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("at", [80_000, 99_000, 200_000, len(WHOLE)])
def test_a_fault_far_behind_the_beginning_of_a_file_leaves_it_out_and_is_reported(fault: str, at: int) -> None:
    """0015, canvas 4.5: only base64 is taken, whatever its first piece looks like; for an agent and for the person."""
    scene = _scene_with(WHOLE[:at].rstrip("=") + fault + WHOLE[at:])
    by_agent, by_person = Board(), Board()
    reply = by_agent.answer("canvas_create", {"title": "T", "reason": "r", "fromScene": scene})
    for board, report in ((by_agent, reply), (by_person, by_person.bring_in(scene))):
        assert report["leftOut"] == [{"id": "pic", "why": "its file is not in base64"}]
        assert list(cast(Record, board.take_out()["files"])) == ["other"]
        rows = {row for row in board.bench.rows if row.startswith(("file/", "piece/"))}
        assert rows == {"file/other", "piece/other/000000"}
        assert board.bench.reloaded() == board.state


@pytest.mark.parametrize("cut_at", [70_000, 90_000, len(WHOLE) - 1])
def test_a_file_is_taken_back_in_whichever_part_of_an_import_its_fault_shows(cut_at: int) -> None:
    """canvas 4.5: what earlier parts brought of it goes, and counts no more."""
    start, bad = WHOLE[:70_000], WHOLE[70_000:cut_at] + "<"
    others: list[Record] = [{"id": "other", "meta": {}, "text": data_url(png(2, 2)), "more": False}]
    parts: list[list[Record]] = [
        [{"id": "pic", "meta": {}, "text": start, "more": True}],
        [{"id": "pic", "text": "AAAA", "more": True}, {"id": "pic", "text": bad, "more": True}],
        [{"id": "pic", "text": "AAAA", "more": False}, *others],
    ]
    board = Board()
    import_id = board.begin({"elements": []})
    for number, pieces in enumerate(parts):
        assert board.send_part(import_id, number, {"pieces": [*pieces]}) == {"parts": number + 1}
    assert board.state.arriving is not None
    assert board.state.arriving.file_bytes == content_bytes(data_url(png(2, 2)))
    report = board.finish(import_id)
    assert (report["leftOutCount"], report["leftOut"]) == (1, [{"id": "pic", "why": "its file is not in base64"}])
    assert list(cast(Record, board.take_out()["files"])) == ["other"]
    assert board.bench.reloaded() == board.state


@pytest.mark.parametrize("padding", ["", "=", "=="])
def test_padding_may_be_cut_in_two_and_nothing_follows_it(padding: str) -> None:
    """canvas 4.5: an import is cut anywhere."""
    picture = data_url(png(1, 1)).rstrip("=")
    for cut_at in range(len(picture) - 3, len(picture + padding) + 1):
        first, second = (picture + padding)[:cut_at], (picture + padding)[cut_at:]
        assert picture_goes_on(first, second)
        assert picture_goes_on(first, second + "A") is (padding == "")
        assert picture_goes_on(first + second, "=") is (padding != "==")


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
