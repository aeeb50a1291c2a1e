// One page an entry. `outDir` is given by nexus/console/build_hook.py, which moves what is complete into place.
import { defineConfig } from "vite";

import { excalidrawFonts, patientFontWorkers } from "./fonts_plugin.js";

export default defineConfig({
  appType: "mpa",
  publicDir: false,
  plugins: [excalidrawFonts(), patientFontWorkers()],
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
      output: {
        // What Excalidraw's worker for fonts shares with the editor stands apart: put into the editor's own file, it
        // would have the worker load the editor, which ends without a window. The names are those of 0.18.1.
        codeSplitting: {
          groups: [{ name: "fonts", test: /excalidraw\/dist\/prod\/chunk-(EIO257PC|ZUYEQ4TG|SRAX5OIU)\.js/ }],
        },
      },
      // "use client" of libraries made for other bundlers.
      onwarn: (warning, warn) => warning.code === "MODULE_LEVEL_DIRECTIVE" || warn(warning),
    },
  },
});
