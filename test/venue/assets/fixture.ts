import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Caller } from "../../../src/core/call/caller.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { type AssetsOptions, createAssets, type VenueAssets } from "../../../src/venue/assets/assets.js";
import { AssetMemory } from "../../../src/venue/assets/memory.js";
import { TestClock } from "../jobs/job-store.js";

export const DID = "did:key:z6MkTestVenue";
export const ALICE: Caller = { did: "did:key:zAlice", authentication: "identity", isOperator: false };
export const BOB: Caller = { did: "did:key:zBob", authentication: "identity", isOperator: false };
export const OPERATOR: Caller = { did: DID, authentication: "local-token", isOperator: true };

export const PAGE = { offset: 0, limit: 1000 };

export const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

/** Metadata that wants this content. */
export const wanting = (content: Uint8Array | string, more: object = {}): Record<string, unknown> => ({
  name: "data",
  content: { sha256: sha256(content), ...more },
});

/** A body as it arrives, in chunks. */
export async function* body(...chunks: (Uint8Array | string)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

/** A body that ends in a failure. */
export async function* broken(error: unknown, ...chunks: string[]): AsyncGenerator<Uint8Array> {
  yield* body(...chunks);
  throw error;
}

/** Everything a stream yields. */
export async function whole(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Assets in memory unless told otherwise. */
export function assetsOf(options: Partial<AssetsOptions> = {}): Promise<VenueAssets> {
  return createAssets({
    did: DID,
    store: new AssetMemory(),
    write: "public",
    maxTotalBytes: 10_000_000,
    maxContentSize: 1_000_000,
    clock: new TestClock(),
    log: silentLog,
    ...options,
  });
}

const directories: string[] = [];

/** A directory that is not there yet. */
export async function freshPath(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "venue-assets-"));
  directories.push(directory);
  return join(directory, "store");
}

export async function removePaths(): Promise<void> {
  await Promise.all(directories.splice(0).map((path) => rm(path, { recursive: true, force: true })));
}
