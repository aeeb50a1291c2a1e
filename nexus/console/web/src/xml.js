// An svg as a file of its own. `outerHTML` writes HTML, whose `&nbsp;` is no XML, and both write characters as they are
// that no XML may hold, in texts and in attributes alike: a file with one is shown by nobody.

const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** The text of an svg file. What XML cannot hold is shown as U+FFFD. */
export function xmlOf(svg) {
  for (const element of [svg, ...svg.querySelectorAll("*")]) {
    for (const attribute of element.attributes) attribute.value = asXml(attribute.value);
    for (const node of element.childNodes) {
      if (node instanceof CharacterData) node.data = asXml(node.data);
    }
  }
  return `${new XMLSerializer().serializeToString(svg)}\n`;
}

function asXml(text) {
  return text.replace(NOT_XML, "\uFFFD");
}
