// What the bundle does about Excalidraw's fonts.
import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** Puts the fonts beside the bundle, where the editor asks for them, with their licences. */
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

const WAIT = /(this\.workerTTL=\w+\.ttl\|\|)1e3/;

/**
 * Lets the workers that cut fonts down to the characters of a picture have 20 s instead of 1 s for their first answer,
 * which on a busy machine they need to start. Without them whole fonts go into every svg.
 */
export function patientFontWorkers() {
  let found = false;
  return {
    name: "patient-font-workers",
    apply: "build",
    transform: (code, id) => {
      if (!id.includes("@excalidraw/excalidraw/dist/prod/") || !WAIT.test(code)) return null;
      found = true;
      return { code: code.replace(WAIT, (_, start) => `${start}2e4`), map: null };
    },
    buildEnd: (error) => {
      if (!error && !found) throw new Error("Excalidraw's workers are made otherwise now; look at patientFontWorkers.");
    },
  };
}
