// The page of the picture engine (actors/engines/browser/render.py): draws one scene with Excalidraw's own functions.
// The scene comes from the address /scene.json, which the engine answers; nothing else is asked for but this bundle.
import "./asset_path.js";

import { exportToSvg } from "@excalidraw/excalidraw";

import { dataUrlOf } from "./data_url.js";
import { clipLabelGaps } from "./label_gaps.js";
import { faultOf } from "./picture_check.js";
import { pngOfSvg } from "./png.js";
import { xmlOf } from "./xml.js";

/** The picture would be larger than a browser can make. Its text is for the person. */
class TooLarge extends Error {}

/**
 * @param {{format: "svg" | "png", scale: number | null, background: boolean, sideMax: number, pixelsMax: number}} wanted
 *   scale null: 1, or what fits the bounds (png). The bounds are in pixels.
 * @returns {Promise<{content?: string, width?: number, height?: number, scale?: number,
 *   complaints?: number, problem?: string, text?: string}>} content: the text of an svg, or a png in base64.
 */
window.nexusPicture = async (wanted) => {
  const complaints = countComplaints();
  try {
    const scene = await (await fetch("/scene.json")).json();
    const appState = { ...scene.appState, exportBackground: wanted.background, exportScale: 1 };
    const drawing = { elements: scene.elements, files: scene.files, appState };
    const picture = wanted.format === "svg" ? await svgOf(drawing, wanted) : await pngOf(drawing, wanted);
    return { ...picture, complaints: complaints() };
  } catch (error) {
    return { problem: error instanceof TooLarge ? "too_large" : "failed", text: String(error?.message ?? error) };
  }
};

/** Excalidraw writes to the console of an element that it cannot draw, and goes on without it. */
function countComplaints() {
  let count = 0;
  const tell = console.error;
  console.error = (...words) => {
    count += 1;
    tell(...words);
  };
  return () => count;
}

async function svgOf(drawing, wanted) {
  const scale = wanted.scale ?? 1;
  const { svg, width, height } = await drawn({ ...drawing, appState: { ...drawing.appState, exportScale: scale } });
  return { content: xmlOf(svg), width: width * scale, height: height * scale, scale };
}

async function pngOf(drawing, wanted) {
  const { svg, width, height } = await drawn(drawing);
  const size = sizeOf(width, height, wanted);
  return { content: await base64Of(await pngOfSvg(svg, size)), ...size };
}

/** The svg that Excalidraw makes of it, and its size in units of the scene. */
async function drawn(drawing) {
  const svg = await exportToSvg(drawing);
  const fault = faultOf(svg);
  if (fault !== null) throw new Error(fault);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  clipLabelGaps(svg, width, height);
  return { svg, width, height };
}

/** The size in pixels of a png of so many units, within the bounds. */
function sizeOf(width, height, wanted) {
  const fits = Math.min(wanted.sideMax / Math.max(width, height), Math.sqrt(wanted.pixelsMax / (width * height)));
  if (wanted.scale !== null && wanted.scale > fits) {
    throw new TooLarge(`At this scale the picture would be ${Math.ceil(width * wanted.scale)} by ` +
      `${Math.ceil(height * wanted.scale)} pixels; at most ${Math.floor(fits * 1000) / 1000} fits.`);
  }
  const scale = wanted.scale ?? Math.min(1, fits);
  return { scale, width: Math.max(1, Math.floor(width * scale)), height: Math.max(1, Math.floor(height * scale)) };
}

async function base64Of(blob) {
  const address = await dataUrlOf(blob);
  return address.slice(address.indexOf(",") + 1);
}

window.nexusPictureIsReady = true;
