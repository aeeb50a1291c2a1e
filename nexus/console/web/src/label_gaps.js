// Excalidraw leaves the label's place out of an arrow by a mask: two rectangles, white for what is shown and black for
// the label. A clip path says the same and is cheap: for each mask a browser draws the arrow's whole box twice more.
// It is also more exact. A mask reaches a tenth beyond the arrow's box and no further, and a straight arrow without
// heads has a box without height, so that the arrow is gone.

const SVG = "http://www.w3.org/2000/svg";

/** Put clip paths in place of the masks of labelled arrows. `width` and `height` are those of the svg's view. */
export function clipLabelGaps(svg, width, height) {
  const clips = new Map();
  for (const mask of svg.querySelectorAll("mask")) {
    const [shown, hidden, ...more] = mask.children;
    if (hidden === undefined || more.length > 0 || !isRect(shown, "#fff") || !isRect(hidden, "#000")) continue;
    const [x, y, wide, high] = ["x", "y", "width", "height"].map((name) => Number(hidden.getAttribute(name)));
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", `M0 0H${width}V${height}H0ZM${x} ${y}h${wide}v${high}h${-wide}Z`);
    path.setAttribute("clip-rule", "evenodd");
    const clip = document.createElementNS(SVG, "clipPath");
    clip.setAttribute("id", mask.id);
    clip.append(path);
    mask.replaceWith(clip);
    clips.set(`url(#${mask.id})`, clip);
  }
  for (const group of svg.querySelectorAll("g[mask]")) {
    const address = group.getAttribute("mask");
    if (!clips.has(address)) continue;
    group.removeAttribute("mask");
    group.setAttribute("clip-path", address);
  }
}

function isRect(element, fill) {
  return element.localName === "rect" && element.getAttribute("fill") === fill;
}
