// Drives on a store, as a venue has them.
import { assembleAdapter } from "../dist/adapter/adapter.js";
import { parseFileConfig } from "../dist/config/load.js";
import { createDriveEngine } from "../dist/drive/engine/engine.js";
import { createOwnerKeys } from "../dist/drive/keys/owner-keys.js";
import { openEmbeddedStore } from "../dist/drive/store/embedded/embedded.js";

export const OWNER = "did:key:bench";
export const log = { debug() {}, info() {}, warn() {}, error() {} };
const CALLER = { callerDID: OWNER, authentication: "identity" };
const VENUE = "did:web:bench.example.com";
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };

/** @returns `{ store, owner, close() }`: the drives of one owner */
export function openDrives(store) {
  const keys = createOwnerKeys({ records: store.keys, venueKey: new Uint8Array(32).fill(1), clock });
  const engine = createDriveEngine({ store, keys, clock, log });
  return { store, owner: engine.owner(OWNER), close: () => engine.close() };
}

/** @returns what {@link openDrives} does, on the embedded store in a folder; `close` closes the store too */
export async function openEmbedded(path, { flush = false } = {}) {
  const drives = openDrives(await openEmbeddedStore({ path, flush }));
  const close = async () => {
    await drives.close();
    await drives.store.close();
  };
  return { ...drives, close };
}

/**
 * An adapter on drives and other roots.
 *
 * @returns `{ call(operation, input), close() }`
 */
export async function openAdapter({ owner }, roots) {
  const adapter = await assembleAdapter(parseFileConfig({ roots }, { baseDir: "/" }), {
    drives: { of: async () => owner },
    capabilities: { venueDid: VENUE, operator: VENUE, publicCaps: [{ with: "file://", can: "crud" }] },
  });
  return {
    call: (operation, input) => adapter.invoke(`file:${operation}`, input, CALLER),
    close: () => adapter.close(),
  };
}
