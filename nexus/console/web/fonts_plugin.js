// Puts Excalidraw's fonts beside the bundle, where the editor asks for them, with their licences.
import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

export function excalidrawFonts() {
  let output = "";
  return {
    name: "excalidraw-fonts",
    apply: "build",
    configResolved: (config) => {
      output = join(config.root, config.build.outDir, "fonts");
    },
    closeBundle: () => {
      cpSync(join(here, "node_modules/@excalidraw/excalidraw/dist/prod/fonts"), output, { recursive: true });
      cpSync(join(here, "FONTS.md"), join(output, "LICENSES.md"));
    },
  };
}
