// A png of the svg that Excalidraw made. Not Excalidraw's own way to a png: that draws each arrow with a label on a
// canvas of its own, a square as long as the arrow, to clear the label's place, and those of a few hundred long arrows
// take gigabytes before the browser frees the first. Here one canvas is all there is.
import { dataUrlOf } from "./data_url.js";
import { xmlOf } from "./xml.js";

// What shows through something (opacity, a cropped picture) is drawn on a layer of its own; it is no larger than a tile.
const TILE_PIXELS = 4096;

/**
 * @param {SVGSVGElement} svg - changed: it becomes the picture of that size
 * @param {{width: number, height: number, scale: number}} size - pixels, and pixels for a unit of the svg's view
 * @returns {Promise<Blob>}
 */
export async function pngOfSvg(svg, { width, height, scale }) {
  svg.setAttribute("viewBox", `0 0 ${width / scale} ${height / scale}`);
  svg.setAttribute("width", `${width}`);
  svg.setAttribute("height", `${height}`);
  const image = await imageOf(svg);
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  // In memory, not on a graphics card, whose largest picture is anyone's guess.
  const context = canvas.getContext("2d", { willReadFrequently: true });
  for (let y = 0; y < height; y += TILE_PIXELS) {
    for (let x = 0; x < width; x += TILE_PIXELS) {
      context.save();
      context.beginPath();
      context.rect(x, y, TILE_PIXELS, TILE_PIXELS);
      context.clip();
      context.drawImage(image, 0, 0, width, height);
      context.restore();
      context.getImageData(x, y, 1, 1); // draws now: until something is read, all is only noted down
    }
  }
  return new Promise((resolve, reject) => {
    const taken = (blob) => (blob === null ? reject(new Error("The browser made no png.")) : resolve(blob));
    canvas.toBlob(taken, "image/png");
  });
}

/**
 * The svg as a browser shows it in `<img>`: fonts and pictures are in it, and nothing of it runs or asks outside.
 * By a data: URL: of an image by a blob: URL Chromium lets no pixel be read once a picture in it has a foreignObject.
 */
async function imageOf(svg) {
  const image = new Image();
  image.src = await dataUrlOf(new Blob([xmlOf(svg)], { type: "image/svg+xml" }));
  await image.decode();
  return image;
}
