// The archive that a call names: a file, an asset, or bytes in its input.

import { buffer } from "node:stream/consumers";
import type { OpenArchive } from "../../core/call/archive.js";
import { assetNoContent, assetNotFound, invalidInput, type Place } from "../../core/errors/texts.js";
import type { AssetContent } from "../../core/ports/adapter.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { PlacesCall } from "../../core/ports/operation.js";
import type { ArchiveListInput } from "../../schema/types.js";
import { checkReference, fileNamed, loadContent } from "../content/content.js";

const SOURCES = ["path", "asset", "bytes"] as const;

/** @throws INVALID_INPUT unless exactly one archive is named */
export function checkOneArchive(input: ArchiveListInput): void {
  if (input.asset !== undefined) checkReference(input.asset, "/asset");
  if (SOURCES.filter((source) => input[source] !== undefined).length === 1) return;
  const expected = "exactly one of path, asset, bytes";
  throw invalidInput(
    "Exactly one of 'path' (with 'root'), 'asset' and 'bytes' (base64) is required",
    "/path",
    expected,
  );
}

export interface ArchiveSource {
  /** Named in errors. */
  readonly place: Place;
  /** Whether the root of the archive denies a name in it: who may read the archive may still not look at that. */
  denies(above: readonly string[], name: string): boolean;
  /** Opens the archive for as long as `work` runs. */
  use<T>(work: (archive: OpenArchive) => Promise<T>): Promise<T>;
}

/** Authorises the archive; nothing is looked at yet. */
export function sourceOf(input: ArchiveListInput, call: PlacesCall): ArchiveSource {
  const { root = "", path, asset = "", bytes } = input;
  const { scope, openArchive } = call;
  const request = { root, abilities: ["crud/read"], changes: false } as const;
  const file = path === undefined ? fileNamed(asset, call) : call.at({ ...request, path });
  const place = file?.access.place ?? { root: "", path: bytes === undefined ? asset : "bytes" };
  const open = async (): Promise<ArchiveBytes> => {
    if (file !== undefined) return file.root.backend.open(file.path, file.access);
    return bytes === undefined ? openAsset(asset, place, call) : inMemory(await load({ bytes }, place, call));
  };
  return {
    place,
    denies: (above, name) => file?.access.policy?.denies(above, name) === true,
    async use(work) {
      const opened = await open();
      try {
        const archive = await openArchive(opened, { name: place.path, place, scope });
        try {
          return await work(archive);
        } finally {
          archive.close();
        }
      } finally {
        opened.close();
      }
    },
  };
}

async function openAsset(reference: string, place: Place, call: PlacesCall): Promise<ArchiveBytes> {
  const found = await call.resolveAsset?.(reference, call.scope.signal);
  if (found === undefined) throw assetNotFound(place, reference);
  if (found.content === null) throw assetNoContent(place, reference);
  if (found.stored !== undefined) return fileOf(found.stored);
  return inMemory(await load({ asset: reference }, place, call));
}

async function load(source: ArchiveListInput, place: Place, call: PlacesCall): Promise<Buffer> {
  const { limits, resolveAsset, scope } = call;
  const content = await loadContent(source, { limits, resolveAsset, scope, place });
  return Buffer.isBuffer(content) ? content : buffer(content);
}

type ArchiveBytes = Pick<OpenFile, "size" | "read" | "close">;

const inMemory = (bytes: Buffer): ArchiveBytes => ({
  size: bytes.length,
  read: (offset, length) => Buffer.from(bytes.subarray(offset, offset + length)),
  close() {},
});

const fileOf = ({ size, read }: NonNullable<AssetContent["stored"]>): ArchiveBytes => ({
  size,
  read: (offset, length) =>
    offset < size ? buffer(read({ start: offset, end: Math.min(size, offset + length) })) : Buffer.alloc(0),
  close() {},
});
