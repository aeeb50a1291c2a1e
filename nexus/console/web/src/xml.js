// An svg as a file of its own. `outerHTML` writes HTML, whose `&nbsp;` is no XML, and both write control characters as
// they are, which no XML may hold: a file with one is shown by nobody.

const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** The text of an svg file. What XML cannot hold is shown as U+FFFD. */
export function xmlOf(svg) {
  const texts = document.createTreeWalker(svg, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    texts.currentNode.data = texts.currentNode.data.replace(NOT_XML, "\uFFFD");
  }
  return `${new XMLSerializer().serializeToString(svg)}\n`;
}
