import { appendFile, mkdir, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { adapterError } from "../../../src/core/errors/errors.js";
import type { Files, Output } from "../files.js";

/**
 * The common way to keep calls inside a root: ask for the real path, compare, then open by name. What the walk by handles
 * is measured against.
 */
export function naiveFiles(root: string): Files {
  const inside = async (path: string): Promise<string> => {
    const real = await realpath(path);
    if (real === root || real.startsWith(`${root}/`)) return real;
    throw adapterError("SYMLINK_ESCAPE", "outside");
  };
  const existing = (path: string): Promise<string> => inside(join(root, path));
  const creatable = async (path: string): Promise<string> =>
    join(await inside(dirname(join(root, path))), basename(path));
  const operations: Record<string, (path: string, input: Record<string, unknown>) => Promise<unknown>> = {
    list: async (path) => readdir(await existing(path)),
    tree: async (path) => readdir(await existing(path), { recursive: true }),
    read: async (path) => readFile(await existing(path), "utf8"),
    stat: async (path) => (await stat(await existing(path))).size,
    write: async (path, { content }) => writeFile(await creatable(path), String(content)),
    append: async (path, { content }) => appendFile(await creatable(path), String(content)),
    mkdir: async (path) => mkdir(await creatable(path)),
    delete: async (path, { recursive }) => rm(await creatable(path), { recursive: recursive === true }),
  };
  return {
    async invoke(operation, input = {}): Promise<Output> {
      try {
        const seen = await operations[operation]?.(String(input["path"]), input);
        return operation === "stat" ? { size: seen } : { seen };
      } catch (error) {
        throw "data" in (error as object) ? error : adapterError("IO_ERROR", String(error));
      }
    },
    close: async () => {},
  };
}
