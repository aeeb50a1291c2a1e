// Imported first: the editor looks for its fonts here instead of on a public server.
window.EXCALIDRAW_ASSET_PATH = new URL("./", import.meta.url).href;
