// Drives on the embedded store, with their log or without.
import { createDriveEngine } from "../../dist/drive/engine/engine.js";
import { createOwnerKeys } from "../../dist/drive/keys/owner-keys.js";
import { openEmbeddedStore } from "../../dist/drive/store/embedded/embedded.js";

export const DRIVE = "work";
const OWNER = "did:key:bench";
export const CALLER = { callerDID: OWNER, authentication: "identity" };
const AT_ONCE = 64;
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
const log = { debug() {}, info() {}, warn() {}, error() {} };

/** @returns a source of drives, with `close()` */
export async function openDrives(path, isLogged = true) {
  const store = await openEmbeddedStore({ path, flush: false });
  const keys = createOwnerKeys({ records: store.keys, venueKey: new Uint8Array(32).fill(1), clock });
  const engine = createDriveEngine({ store, keys, clock, log });
  return {
    async of(did) {
      const owner = engine.owner(did);
      return isLogged
        ? owner
        : { ...owner, change: (drive, work) => owner.change(drive, (tree) => work(silent(tree))) };
    },
    async close() {
      await engine.close();
      await store.close();
    },
  };
}

/** The same change, of which the log is told nothing. */
const silent = (tree) =>
  new Proxy(tree, {
    get(target, name) {
      if (name === "note") return () => ({});
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

/** Fills the log of a drive with entries of appends. */
export async function fillLog(path, count) {
  const drives = await openDrives(path);
  const owner = await drives.of(OWNER);
  const origin = { root: DRIVE, scheme: "file", op: "append", actor: OWNER, via: "p0", surface: "library" };
  for (let done = 0; done < count; done += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, place) =>
      owner.change(DRIVE, async (tree) => {
        const since = tree.moment();
        const name = `filled-${place}.txt`;
        const old = await tree.stat([name]);
        await tree.writeFile([name], Buffer.from(`${done}`));
        const before = old === undefined ? null : { size: old.size, modified: old.modified };
        const change = { action: "modified", kind: "file", path: [name], before, after: { size: 1, modified: done } };
        tree.note({ ...origin, ...change }, since, tree.moment());
      }),
    );
    await Promise.all(some);
  }
  await drives.close();
}
