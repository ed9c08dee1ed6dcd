// A venue's drives in a process of its own: writes file after file and says which have been acknowledged, until it is killed.
import { createDriveEngine } from "../../../../dist/drive/engine/engine.js";
import { createOwnerKeys } from "../../../../dist/drive/keys/owner-keys.js";
import { openObjectStore } from "../../../../dist/drive/store/s3/object-store.js";

const options = JSON.parse(process.argv[2]);
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const clock = { nowMs: Date.now, monotonicMs: () => performance.now() };
const store = await openObjectStore({ ...options, log: silent });
const keys = createOwnerKeys({ records: store.keys, venueKey: new Uint8Array(32).fill(1), clock });
const owner = createDriveEngine({ store, keys, clock, log: silent }).owner(options.did);
for (let at = 0; ; at += 1) {
  const name = `child-${at}`;
  const content = new Uint8Array(at % 5 === 0 ? 200_000 : 100).fill(at);
  await owner.change("notes", (draft) => draft.writeFile([name], content));
  process.stdout.write(`${name}\n`);
}
