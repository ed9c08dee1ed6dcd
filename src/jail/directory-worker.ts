// Thread entry point of {@link DirectoryThread}.

import { type Dirent, readdirSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { type FoundNames, type FoundStats, NOTHING, type Reply, type Request, TYPES } from "./directory-thread.js";
import { fromDirent } from "./native/entries.js";
import { statOfName } from "./stat.js";
import { errnoOf } from "./sys.js";

/** Answers requests of {@link DirectoryThread}. Descriptors are shared by all threads of the process. */
parentPort?.on("message", (request: Request) => {
  parentPort?.postMessage(answer(request));
});

function answer({ id, path, names }: Request): Reply {
  try {
    return { id, found: names === undefined ? namesIn(path) : statsOf(path, names) };
  } catch (error) {
    return { id, found: { code: errnoOf(error) ?? "UNKNOWN" } };
  }
}

function namesIn(path: string): FoundNames {
  // latin1 keeps one character per byte: names need not be UTF-8.
  const entries: Dirent[] = readdirSync(path, { withFileTypes: true, encoding: "latin1" });
  return {
    names: entries.map(({ name }) => name),
    types: Uint8Array.from(entries, (entry) => TYPES.indexOf(fromDirent(entry).type)),
  };
}

function statsOf(path: string, names: readonly (string | Uint8Array)[]): FoundStats {
  const types = new Uint8Array(names.length).fill(NOTHING);
  const [sizes, times] = [new Float64Array(names.length), new Float64Array(names.length)];
  for (const [index, name] of names.entries()) {
    const stat = found(typeof name === "string" ? `${path}/${name}` : Buffer.concat([Buffer.from(`${path}/`), name]));
    if (stat === undefined) continue;
    types[index] = TYPES.indexOf(stat.type);
    sizes[index] = stat.size;
    times[index] = stat.modifiedMs;
  }
  return { types, sizes, times };
}

/** `undefined` if the entry is gone or cannot be examined. */
function found(path: string | Buffer): ReturnType<typeof statOfName> {
  try {
    return statOfName(path);
  } catch {
    return undefined;
  }
}
