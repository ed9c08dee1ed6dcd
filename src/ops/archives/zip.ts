// The operation that makes archives.

import { isSamePath } from "../../core/call/path.js";
import { countText } from "../../core/call/progress.js";
import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { invalidInput, notSupportedHere, type Place, at as placeAt } from "../../core/errors/texts.js";
import { expectedOf } from "../../core/etag.js";
import { AssetError } from "../../core/ports/asset.js";
import type { Operation, PathCall, PlacesCall } from "../../core/ports/operation.js";
import type { SourceEntry } from "../../core/ports/tree-source.js";
import { isReachableName, isWithin } from "../../path/grammar.js";
import { compareCodePoints } from "../../path/order.js";
import type { ArchiveZipInput, ArchiveZipOutput } from "../../schema/types.js";
import { versionOf } from "../content/file-etag.js";
import { piecesOf } from "../content/pieces.js";
import { hiddenOf } from "../copying/copy-tree.js";
import { hostPathOf } from "../copying/two-places.js";
import { refuseTwinFolders } from "../searching/alike.js";
import { Tally } from "./limits.js";
import { type PackedEntry, pack } from "./pack.js";

const CONTENT_TYPE = "application/zip";
const EXTENSION = ".zip";

/** `zip`: packs files and directories into an archive, which appears by one rename; or into a new asset. */
export const zip: Operation<ArchiveZipInput, ArchiveZipOutput> = {
  name: "zip",
  on: "places",
  ability: "crud/write",
  also: ["crud/read"],
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  check(input) {
    const { path, paths, destRoot, destPath, ifNoneMatch } = input;
    if ((path === undefined) === (paths === undefined))
      throw invalidInput("Exactly one of 'path' and 'paths' is required", "/path", "one of path, paths");
    expectedOf(input);
    if (ifNoneMatch !== undefined && destRoot === undefined && destPath === undefined)
      throw invalidInput("'ifNoneMatch' needs 'destPath'", "/ifNoneMatch", "destPath beside it");
  },
  async run(input, call) {
    const sources = sourcesOf(input, call);
    const name = input.name ?? nameOf(input);
    const { destRoot, destPath } = input;
    if (destRoot === undefined && destPath === undefined) return toAsset(sources, name, call);
    const request = { root: destRoot ?? input.root, path: destPath ?? name };
    const to = call.at({ ...request, abilities: ["crud/write"], changes: true });
    await refuseTwinFolders(to);
    // Links on the way are known then.
    await to.root.backend.stat(to.path, to.access);
    const packing = new Packing(sources, to.access.place, hostPathOf(to, to.access.realPath));
    const options = { parents: true, expected: expectedOf(input, to.tagOf) };
    const written = await to.root.backend.write(to.path, { load: () => packing.run() }, options, to.access);
    const version = written.sha256 === undefined ? {} : versionOf(written.sha256, to);
    const place = { destRoot: to.root.name, destPath: to.path.text };
    return { entries: packing.tally.entries, bytes: written.bytes, ...place, ...version, ...packing.remarks };
  },
  bytes: ({ bytes }) => bytes,
};

/** The places to pack, in the order of their names; none lies in another. */
function sourcesOf({ root, path, paths = [path ?? ""] }: ArchiveZipInput, call: PlacesCall): readonly PathCall[] {
  const all = paths.map((one) => call.at({ root, path: one, abilities: ["crud/read"], changes: false }));
  all.sort((one, other) => comparePaths(one.path.segments, other.path.segments));
  const kept: PathCall[] = [];
  for (const one of all) {
    const last = kept.at(-1)?.path.segments;
    const { segments } = one.path;
    if (last === undefined || !isWithin(segments, last)) kept.push(one);
  }
  return kept;
}

function comparePaths(one: readonly string[], other: readonly string[]): number {
  const first = one.findIndex((name, index) => name !== other[index]);
  const [a, b] = first < 0 ? [undefined, other[one.length]] : [one[first], other[first]];
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
  return compareCodePoints(a, b);
}

/** The name of an archive that is given none. */
function nameOf({ root, path, paths }: ArchiveZipInput): string {
  const only = path ?? (paths?.length === 1 ? paths[0] : undefined);
  const last = only?.split("/").findLast((name) => name !== "" && name !== "." && name !== "..");
  return `${last ?? root}${EXTENSION}`;
}

async function toAsset(sources: readonly PathCall[], fileName: string, call: PlacesCall): Promise<ArchiveZipOutput> {
  const place = sources[0]?.access.place ?? { root: "", path: "" };
  if (call.storeAsset === undefined) throw notSupportedHere("an archive without destPath, which becomes an asset");
  const packing = new Packing(sources, place, undefined);
  try {
    const asset = await call.scope.race(call.storeAsset(packing.run(), { fileName, contentType: CONTENT_TYPE }));
    return { entries: packing.tally.entries, bytes: packing.bytes, asset, ...packing.remarks };
  } catch (error) {
    throw error instanceof AssetError ? refusalOf(error, place) : error;
  }
}

function refusalOf({ fault, data: { limit } }: AssetError, place: Place): FileAdapterError {
  const data = { ...placeAt(place), ...(limit === undefined ? {} : { limit }) };
  if (fault === "forbidden")
    return adapterError("PERMISSION_DENIED", "Only the operator may store assets here. Pass destPath", data);
  if (fault === "full") return adapterError("NO_SPACE", "There is no room for another asset. Pass destPath", data);
  return adapterError("TOO_LARGE", "The archive is larger than an asset may be. Pass destPath", data);
}

/** One archive that is being made. */
class Packing {
  readonly tally: Tally;
  /** Bytes of the archive so far. */
  bytes = 0;
  readonly #sources: readonly PathCall[];
  /** Where it will be itself. */
  readonly #own: readonly string[] | undefined;
  readonly #left = { symlinks: 0, policy: 0, unreadable: 0 };
  #hasChanged = false;

  constructor(sources: readonly PathCall[], place: Place, own: readonly string[] | undefined) {
    this.#sources = sources;
    this.#own = own;
    this.tally = new Tally(place);
  }

  async *run(): AsyncGenerator<Uint8Array> {
    for await (const chunk of pack(this.#entries())) {
      this.bytes += chunk.length;
      yield chunk;
    }
  }

  get remarks(): Pick<ArchiveZipOutput, "hidden" | "hint"> {
    return { ...hiddenOf(this.#left), ...(this.#hasChanged ? { hint: CHANGED } : {}) };
  }

  async *#entries(): AsyncGenerator<PackedEntry> {
    for (const from of this.#sources) {
      const source = await from.root.backend.source(from.path, { followLast: true }, from.access);
      try {
        let entry: SourceEntry | undefined = source.top;
        for (; entry !== undefined; entry = await source.next()) yield* this.#packed(from, entry);
        this.#hasChanged ||= !(await source.isUnchanged());
        for (const kind of ["symlinks", "policy", "unreadable"] as const) this.#left[kind] += source.left[kind];
      } finally {
        source.close();
      }
    }
  }

  async *#packed(from: PathCall, entry: SourceEntry): AsyncGenerator<PackedEntry> {
    const { scope } = from.access;
    scope.checkpoint();
    scope.renew();
    const { below, type, modified = 0, mode = 0 } = entry;
    const segments = [...from.path.segments, ...below];
    const real = hostPathOf(from, [...(from.access.realPath ?? from.path.segments), ...below]);
    if (segments.length === 0 || (this.#own !== undefined && isSamePath(real, this.#own))) return;
    if (!segments.every((name, index) => isReachableName(name, index === 0))) {
      this.#left.unreadable += 1;
      return;
    }
    const name = segments.join("/");
    scope.report?.(this.tally.entries, undefined, () => `${countText(this.tally.entries, "entry", "entries")} packed`);
    if (type === "directory") {
      this.tally.add(0);
      yield { name, modified, mode };
      return;
    }
    const file = await entry.open();
    try {
      this.tally.add(file.size);
      yield { name, modified: file.modified, mode, content: piecesOf(file, { seen: () => scope.renew() }) };
    } finally {
      file.close();
    }
  }
}

const CHANGED = "Something changed while it was read: the archive may have both old and new content. Zip it again";
