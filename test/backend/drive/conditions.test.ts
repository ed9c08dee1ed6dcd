import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "@jest/globals";
import { DriveBackend } from "../../../src/backend/drive/drive.js";
import { at, SUITE_ROOT, testAccess } from "../../../src/backend-suite/access.js";
import { bodyOf, filesOf } from "../../../src/backend-suite/files.js";
import { systemClock } from "../../../src/core/clock.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { hashText } from "../../../src/core/etag.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { createDriveEngine } from "../../../src/drive/engine/engine.js";
import { createOwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { parsePath } from "../../../src/path/grammar.js";
import { openDrives } from "./open-drives.js";

const OWNER = "did:key:z6MkfDbhGZ1nCvrSEHQZ9WPSKXqUcEFBVzE9TG3Fb1Jv8CYp";
const WINS = 8;

test("a group of one is refused before its content is asked for", async () => {
  const drives = openDrives();
  const backend = new DriveBackend({ open: () => drives.of(OWNER), drive: "notes" });
  let loads = 0;
  const load = (): Buffer => {
    loads += 1;
    return Buffer.from("text");
  };
  const write = async (path: string, options: { expected?: { content: string } }) =>
    backend.changeAll([{ kind: "write", at: at(path), body: { load }, options: { parents: false, ...options } }]);
  await expect(write("none/file", {})).rejects.toMatchObject({ code: "PARENT_MISSING" });
  await expect(write("file", { expected: { content: "aaaaaaaa" } })).rejects.toMatchObject({ code: "CONFLICT" });
  expect(loads).toBe(0);
  expect(await write("file", {})).toMatchObject([{ existed: false }]);
  expect(loads).toBe(1);
  await drives.close();
});

/** Two venues on one store: what one has looked at, the other may change before it swaps the root. */
test("writers of two engines on one store lose no update, and each version has one winner", async () => {
  const store = createMemoryStore();
  const venueKey = randomBytes(32);
  const engines = [0, 1].map(() => {
    const keys = createOwnerKeys({ records: store.keys, venueKey, clock: systemClock });
    return createDriveEngine({ store, keys, clock: systemClock, log: silentLog });
  });
  const backends = engines.map((engine) => new DriveBackend({ open: async () => engine.owner(OWNER), drive: "notes" }));
  const path = parsePath(SUITE_ROOT, "count");
  const write = async (backend: DriveBackend, content: string, expected: string | undefined) =>
    backend.write(
      path,
      bodyOf(content),
      { parents: false, expected: expected === undefined ? undefined : { content: expected } },
      testAccess({ path: "count" }),
    );
  const [first] = backends;
  if (first === undefined) throw new Error("there is no backend");
  await write(first, "0", undefined);
  const won: string[] = [];
  const count = async (backend: DriveBackend): Promise<void> => {
    for (let left = WINS; left > 0; ) {
      const found = await filesOf(backend).text("count");
      const next = String(Number(found) + 1);
      try {
        await write(backend, next, hashText(createHash("sha256").update(found).digest("hex")));
        won.push(next);
        left--;
      } catch (error) {
        if (!(error instanceof FileAdapterError) || error.code !== "CONFLICT") throw error;
      }
    }
  };
  await Promise.all([...backends, ...backends].map(count));
  expect(won.toSorted((one, other) => Number(one) - Number(other))).toEqual(
    Array.from({ length: 4 * WINS }, (_, index) => String(index + 1)),
  );
  await Promise.all(engines.map((engine) => engine.close()));
  await store.close();
});
