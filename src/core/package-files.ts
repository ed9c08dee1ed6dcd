// Locates files of this package. Only this module does, so that other modules can move without breaking such paths.

const BUNDLED =
  "venue-files cannot be part of a bundle: its schemas and workers lie beside its code. Name it external to the bundler";
/** Code lies anywhere below `src/` or `dist/`: what starts on its own is one file with all that it needs. */
const PACKAGE = import.meta.url.slice(
  0,
  Math.max(...["/src/", "/dist/"].map((at) => import.meta.url.lastIndexOf(at))) + 1,
);

/**
 * URL of a file of this package.
 * @param path relative to the package, such as `schemas/config.json`
 * @throws Error if a bundler has moved this code away from the package
 */
export function packageFile(path: string): URL {
  if (PACKAGE === "") throw new Error(BUNDLED);
  return new URL(path, PACKAGE);
}

/** URL of compiled code for a worker, even when this process runs from source. @param path below `src`, no extension */
export const compiledFile = (path: string): URL => packageFile(`dist/${path}.js`);
