// Locates files of this package. Only this module does, so that other modules can move without breaking such paths.

const PACKAGE = new URL("../../", import.meta.url);

/** URL of a file of this package. @param path relative to the package, such as `schemas/config.json` */
export const packageFile = (path: string): URL => new URL(path, PACKAGE);

/** URL of compiled code for a worker, even when this process runs from source. @param path below `src`, no extension */
export const compiledFile = (path: string): URL => packageFile(`dist/${path}.js`);
