// Lets the suites of a worker share what V8 compiled. Each suite has a vm context of its own and compiles every module it loads
// anew, which is most of the time of a suite that tests little. With the code cache of the first compilation the next ones
// only read it in.
//
// Where V8 refuses a cache (it checks version, flags and length of the source), the module is compiled as ever. So is each
// module with an `import()`: what came from a cache does not say who asks, and Node then refuses to import.
import vm from "node:vm";

const { SourceTextModule, compileFunction } = vm;

/** By file: the source, since a module can change between suites of a watching Jest, and what was compiled of it. */
const modules = new Map();
const functions = new Map();

const DYNAMIC_IMPORT = /\bimport\s*\(/;

const cached = (caches, name, code) => {
  const known = caches.get(name);
  return known?.code === code ? known.data : undefined;
};

function compiledModule(code, options) {
  const cachedData = cached(modules, options.identifier, code);
  if (cachedData !== undefined) {
    try {
      return new SourceTextModule(code, { ...options, cachedData });
    } catch (error) {
      if (error.code !== "ERR_VM_MODULE_CACHED_DATA_REJECTED") throw error;
    }
  }
  const module = new SourceTextModule(code, options);
  if (!DYNAMIC_IMPORT.test(code)) modules.set(options.identifier, { code, data: module.createCachedData() });
  return module;
}

/** Node marks a refused cache here, and goes on without it. */
function compiledFunction(code, parameters, options) {
  const cachedData = cached(functions, options.filename, code);
  if (cachedData !== undefined) return compileFunction(code, parameters, { ...options, cachedData });
  if (DYNAMIC_IMPORT.test(code)) return compileFunction(code, parameters, options);
  const compiled = compileFunction(code, parameters, { ...options, produceCachedData: true });
  functions.set(options.filename, { code, data: compiled.cachedData });
  return compiled;
}

/** Jest takes both from `node:vm` at each use, with a name for each module. */
export function shareCompiledCode() {
  vm.SourceTextModule = new Proxy(SourceTextModule, {
    construct: (target, [code, options]) =>
      options?.identifier === undefined ? new target(code, options) : compiledModule(code, options),
  });
  vm.compileFunction = (code, parameters, options) =>
    options?.filename === undefined
      ? compileFunction(code, parameters, options)
      : compiledFunction(code, parameters, options);
}
