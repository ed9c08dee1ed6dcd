// Loaded first, it makes Node find no native library of ours, as where they could not be installed.
const Module = require("node:module");
const { pathToFileURL } = require("node:url");

const NATIVE = /^(?:lmdb|koffi)(?:\/|$)/;
const missing = (name, code) => Object.assign(new Error(`Cannot find package '${name}'`), { code });

const resolveFilename = Module._resolveFilename;
Module._resolveFilename = (request, ...rest) => {
  if (NATIVE.test(request)) throw missing(request, "MODULE_NOT_FOUND");
  return resolveFilename(request, ...rest);
};

const hooks = `
  const missing = ${missing};
  export async function resolve(name, context, next) {
    if (${NATIVE}.test(name)) throw missing(name, "ERR_MODULE_NOT_FOUND");
    return next(name, context);
  }
`;
Module.register(`data:text/javascript,${encodeURIComponent(hooks)}`, pathToFileURL(__filename));
