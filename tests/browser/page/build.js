// Bundles one page for each editor into built/: NAME/judge.js, NAME/judge.css and NAME/fonts.
import { cp, rm } from "node:fs/promises";
import { build } from "esbuild";

const EDITORS = { release: "@excalidraw/excalidraw", next: "excalidraw-next" };

await rm("built", { recursive: true, force: true });
for (const [name, source] of Object.entries(EDITORS)) {
  await build({
    entryPoints: ["judge.js"],
    outdir: `built/${name}`,
    alias: { excalidraw: source },
    bundle: true,
    splitting: true, // diagrams from text and languages are never asked for
    minify: true,
    format: "esm",
    target: "es2022",
    conditions: ["production"],
    define: { "process.env.NODE_ENV": '"production"' },
    loader: { ".woff2": "empty" },
    logLevel: "error",
  });
  await cp(`node_modules/${source}/dist/prod/fonts`, `built/${name}/fonts`, { recursive: true });
}
