// Files of this package are located here alone, so that a module can move without losing a schema or a worker.

const PACKAGE = new URL("../../", import.meta.url);

/** URL of a file of this package. @param path from the top of the package, such as `schemas/config.json` */
export const packageFile = (path: string): URL => new URL(path, PACKAGE);

/** URL of compiled code, for a thread; also when this process runs the sources. @param path below `src`, without extension */
export const compiledFile = (path: string): URL => packageFile(`dist/${path}.js`);
