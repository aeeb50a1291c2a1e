// What tests/browser asks of the editor: each function is the editor's own, as one call that takes and gives JSON.
import "./asset_path.js";
import "excalidraw/index.css";
import * as editor from "excalidraw";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

let api = null;
let root = null;

const nextFrame = () => new Promise((done) => requestAnimationFrame(() => done()));

function blobOf(file) {
  return new Blob([file], { type: editor.MIME_TYPES.excalidraw });
}

window.judge = {
  // A file as the editor opens it from disk.
  async opened(file) {
    const { elements, files } = await editor.loadFromBlob(blobOf(file), null, null);
    return { elements, files };
  },

  // The elements as the editor takes them from wherever, with its own options for it.
  restored(elements, options) {
    return editor.restoreElements(elements, null, options);
  },

  // The scene as the editor draws it, without a canvas.
  async svg(file) {
    const { elements, files } = await editor.loadFromBlob(blobOf(file), null, null);
    const drawn = await editor.exportToSvg({
      elements,
      files,
      appState: { exportBackground: false },
      exportPadding: 0,
      skipInliningFonts: true,
    });
    return drawn.outerHTML;
  },

  // Open a file in a whole editor; what was open before is gone.
  async mount(file) {
    root?.unmount();
    api = null;
    const initialData = await editor.loadFromBlob(blobOf(file), null, null);
    root = createRoot(document.getElementById("editor"));
    await new Promise((done) => {
      const take = (given) => {
        api = given ?? api;
        done();
      };
      // The release and main have different names for it.
      const props = { initialData, excalidrawAPI: take, onExcalidrawAPI: take };
      root.render(createElement(editor.Excalidraw, props));
    });
    while (api.getAppState().isLoading) {
      await nextFrame();
    }
    await document.fonts.ready;
  },

  // The font of that number and its fallbacks, as far as these characters need them.
  async loadFont(family, characters) {
    const own = Object.keys(editor.FONT_FAMILY).find((key) => editor.FONT_FAMILY[key] === family);
    const name = own === "Helvetica" ? "Liberation Sans" : own;
    if (![...document.fonts].some((face) => face.family.replaceAll("\"", "") === name)) {
      await this.mount(JSON.stringify({ type: "excalidraw", elements: [] })); // which registers them
    }
    for (const each of [name, "Xiaolai"]) {
      const faces = await document.fonts.load(`20px "${each}"`, characters);
      if (faces.length === 0) {
        throw new Error(`no font ${each}`);
      }
    }
  },

  // Deleted elements too.
  elements() {
    return api.getSceneElementsIncludingDeleted();
  },

  // What "save to disk" would write.
  saved() {
    return editor.serializeAsJSON(api.getSceneElements(), api.getAppState(), api.getFiles(), "local");
  },

  // Where a point of the scene lies in the page, in CSS pixels.
  place(x, y) {
    const { x: left, y: top } = editor.sceneCoordsToViewportCoords({ sceneX: x, sceneY: y }, api.getAppState());
    return [left, top];
  },

  // Let the editor look at these points from so near, 1 being as large as drawn.
  async look(x, y, zoom) {
    const { width, height } = api.getAppState();
    api.updateScene({
      appState: { scrollX: width / 2 / zoom - x, scrollY: height / 2 / zoom - y, zoom: { value: zoom } },
    });
    await nextFrame();
    await nextFrame();
  },
};
