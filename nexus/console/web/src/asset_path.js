// Imported before the editor, which looks at it when it is loaded: its fonts come from where this page came from,
// never from the public address that it falls back to.
window.EXCALIDRAW_ASSET_PATH = "/";
