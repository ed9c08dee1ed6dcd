import { etagOf, hashText } from "../core/etag.js";
import { type Awaitable, after, type Io, runIo, wait } from "../core/io.js";
import type { FileStat } from "../core/ports/backend.js";
import { type FileCall, type Operation, type PathCall, READS } from "../core/ports/operation.js";
import type { StatInput, StatOutput } from "../schema/types.js";
import { etagFor, hashOf } from "./content/file-etag.js";
import { mimeByName } from "./content/mime.js";
import { atVersion } from "./history/version.js";
import { findAlike } from "./searching/alike.js";

/** `stat`: the metadata of the entry at a path, or that there is none. */
export const stat: Operation<StatInput, StatOutput> = {
  name: "stat",
  on: "path",
  ...READS,
  looksInArchives: true,
  run: (input, call) =>
    input.version === undefined
      ? after(statNow(input, call), (found) => (found.exists || call.terms !== undefined ? found : withAlike(call)))
      : atVersion(call, input.version).then((past) => statNow(input, past)),
};

const statNow = ({ hash }: StatInput, call: FileCall): Awaitable<StatOutput> =>
  after(call.root.backend.stat(call.path, call.access), (found) => {
    if (found === undefined) return { exists: false };
    const output = outputOf(found, call);
    if (found.type !== "file") return output;
    const { stamp } = found;
    const tag = call.terms?.tags === true && stamp !== undefined ? call.tagOf?.(stamp) : undefined;
    const version = hash === true ? runIo(hashNow(call)) : etagFor(call, stamp);
    return after(version, (parts) => Object.assign(output, parts, tag === undefined ? {} : { tag }));
  });

/** The answer for a missing path, with the existing path that looks the same. */
async function withAlike(call: PathCall): Promise<StatOutput> {
  const alike = await findAlike(call);
  if (alike === undefined) return { exists: false };
  const { path, hint } = alike;
  return { exists: false, hint, suggestions: [{ root: call.root.name, path }] };
}

/** Set one by one: copies into a literal are slow, and this is most of a small call. */
function outputOf(found: FileStat, { root, path, terms }: FileCall): StatOutput {
  const { type, size, modified } = found;
  const output: StatOutput & { created?: number } = {
    exists: true,
    type,
    size,
    modified,
    readOnly: root.readOnly || found.readOnly,
  };
  const mime = type === "file" ? mimeByName(path.segments.at(-1) ?? "") : undefined;
  if (mime !== undefined) output.mime = mime;
  if (found.symlink) output.symlink = true;
  if (terms?.details === true) output.created = found.created ?? modified;
  return output;
}

/** Size and time are those of the hashed file, since it may have been replaced after the stat. */
function* hashNow(call: FileCall): Io<Pick<StatOutput, "size" | "modified" | "etag" | "hash">> {
  const file = yield* wait(call.root.backend.open(call.path, call.access));
  try {
    const { sha256, size } = yield* hashOf(file, call);
    return { size, modified: file.modified, etag: etagOf(sha256), hash: hashText(sha256) };
  } finally {
    file.close();
  }
}
