// Puts the command line program in a few files, which load in half the time of several hundred. Part of `npm run build`.
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));

rmSync(`${DIST}bundle`, { recursive: true, force: true });
await build({
  entryPoints: [fileURLToPath(new URL("../src/cli.ts", import.meta.url))],
  outdir: DIST,
  // Two levels below the package, as modules are that locate its files (src/core/package-files.ts).
  chunkNames: "bundle/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  minifyWhitespace: true,
  legalComments: "none",
  logLevel: "warning",
});
