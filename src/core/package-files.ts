// Locates files of this package. Only this module does, so that other modules can move without breaking such paths.

/** Code lies anywhere below `src/` or `dist/`: what starts on its own is one file with all that it needs. */
const PACKAGE = import.meta.url.slice(
  0,
  Math.max(...["/src/", "/dist/"].map((at) => import.meta.url.lastIndexOf(at))) + 1,
);

/** URL of a file of this package. @param path relative to the package, such as `schemas/config.json` */
export const packageFile = (path: string): URL => new URL(path, PACKAGE);

/** URL of compiled code for a worker, even when this process runs from source. @param path below `src`, no extension */
export const compiledFile = (path: string): URL => packageFile(`dist/${path}.js`);
