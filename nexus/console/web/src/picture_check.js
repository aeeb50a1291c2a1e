// The last look at an svg before it leaves (security 2.14): a person opens it in a browser, as a document. The scene was
// made harmless before it was drawn (tools/canvas/placeholders.py); this finds what that, or a later Excalidraw, let by.

const ELEMENTS = new Set([
  ...["svg", "g", "defs", "style", "metadata", "symbol", "use", "image", "mask", "clipPath", "a"],
  ...["path", "rect", "text", "circle", "ellipse", "line", "polygon", "polyline", "title"],
]);
const PICTURES = /^data:image\/(png|jpeg|gif|webp|svg\+xml);base64,/;
const ADDRESS = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^"')]*))/gi;
const OTHER_ADDRESSES = /@import|\b(image|image-set|src)\(/i;
const LINKS = /^(https?|mailto):/i;

/** Why the svg may do more than be looked at; null if it may not. */
export function faultOf(svg) {
  for (const element of [svg, ...svg.querySelectorAll("*")]) {
    if (!ELEMENTS.has(element.localName)) return `The picture holds an element ${element.localName}.`;
    if (element.localName === "style" && asksOutside(element.textContent)) return "The picture's fonts are not in it.";
    for (const { localName, value } of element.attributes) {
      if (localName.startsWith("on")) return "The picture holds a script.";
      if (localName === "href" && !isHarmless(element.localName, value)) return "The picture leads outside.";
      if (localName !== "href" && asksOutside(value)) return "The picture asks for something outside.";
    }
  }
  return null;
}

function isHarmless(name, address) {
  if (name === "a") return LINKS.test(address);
  if (name === "image") return PICTURES.test(address);
  return address.startsWith("#");
}

/**
 * Whether CSS in `text` names anything but a part of this document or data in it. Excalidraw writes no escapes, and
 * with one every word can be written in another way: whatever has a backslash is refused.
 */
export function asksOutside(text) {
  if (text.includes("\\") || OTHER_ADDRESSES.test(text)) return true;
  return [...text.matchAll(ADDRESS)].some(([, inDouble, inSingle, bare]) => !isWithin(inDouble ?? inSingle ?? bare));
}

function isWithin(address) {
  return /^\s*(#|data:)/i.test(address);
}
