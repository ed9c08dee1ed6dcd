// Jest's transform: TypeScript by swc, then the globals that a module uses become constants of that module.
//
// Jest runs every suite in a vm context, where each use of a global such as `Array` or `Buffer` is an intercepted property
// look-up, tens of times slower than a local name. Read once a module, they cost nothing: suites that compute much take
// a half to a fifth of the time. Globals that tests replace (timers, Date, performance, process, console) are left alone.
//
// Source maps are files of Jest's cache, which it reads for a stack trace. Inside the modules they would be most of what every
// suite reads, hashes and parses.
import swc from "@swc/jest";

const GLOBALS = [
  ...["Array", "ArrayBuffer", "BigInt", "BigInt64Array", "BigUint64Array", "Boolean", "Buffer", "DataView", "Error"],
  ...["Float64Array", "Int32Array", "Int8Array", "JSON", "Map", "Math", "Number", "Object", "Promise", "RangeError"],
  ...["Reflect", "RegExp", "Set", "SharedArrayBuffer", "String", "Symbol", "SyntaxError", "TypeError", "Uint16Array"],
  ...["Uint32Array", "Uint8Array", "Uint8ClampedArray", "WeakMap", "WeakRef", "WeakSet"],
];
/** Part of the cache's key: raise it when the output for the same input changes. */
const VERSION = "globals-2";

const isUsed = (code, name) => new RegExp(`(?<![\\w$.#])${name}(?![\\w$:])`).test(code);
/** Whether the module has the name for something of its own: declared or imported. */
const isTaken = (code, name) =>
  new RegExp(
    `\\b(?:const|let|var|class|function)\\s+${name}\\b|\\bimport\\b[^;]*[{,]\\s*(?:\\w+ as )?${name}\\b[^;]*\\bfrom\\b`,
  ).test(code);

/** On the first line, so that the numbers of lines in stack traces stay. */
function withLocalGlobals(code) {
  const names = GLOBALS.filter((name) => isUsed(code, name) && !isTaken(code, name));
  return names.length === 0 || code.startsWith("#!") ? code : `const { ${names.join(", ")} } = globalThis;${code}`;
}

function createTransformer(options) {
  const inner = swc.createTransformer({ ...options, sourceMaps: true });
  const finish = (result) => ({ ...result, code: withLocalGlobals(result.code) });
  return {
    ...inner,
    getCacheKey: (...given) => inner.getCacheKey(...given) + VERSION,
    process: (...given) => finish(inner.process(...given)),
    processAsync: async (...given) => finish(await inner.processAsync(...given)),
  };
}

export default { createTransformer };
