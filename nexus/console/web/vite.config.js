// One page an entry. `outDir` is given by nexus/console/build_hook.py, which moves what is complete into place.
import { defineConfig } from "vite";

import { excalidrawFonts } from "./fonts_plugin.js";

export default defineConfig({
  appType: "mpa",
  publicDir: false,
  plugins: [excalidrawFonts()],
  build: {
    outDir: "dist",
    target: "es2022",
    // Everything comes from one origin under a policy without inline scripts, so nothing is put into the page.
    modulePreload: false,
    assetsInlineLimit: 0,
    license: { fileName: "LICENSES.md" },
    chunkSizeWarningLimit: 4096,
    rolldownOptions: {
      input: { render: "render.html" },
      // "use client" of libraries made for other bundlers.
      onwarn: (warning, warn) => warning.code === "MODULE_LEVEL_DIRECTIVE" || warn(warning),
    },
  },
});
