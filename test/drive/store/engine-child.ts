import { writeSync } from "node:fs";
import { silentLog } from "../../../src/core/ports/log.js";
import { createDriveEngine, type DriveChange, type OwnerDrives } from "../../../src/drive/engine/engine.js";
import { createOwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import {
  ENGINE_OWNER,
  ENGINE_VENUE_KEY,
  engineClock,
  fileContent,
  filePath,
  loggedContent,
  loggedNames,
} from "./engine-child-values.js";

// Arguments: what to do, the store, a number.
const [, , what = "", path = "", number = ""] = process.argv;

/** Changes that are asked for at once, so that some share a swap. */
const WRITERS = 4;

/** Writes one file after the other and tells of each once it is acknowledged. */
async function writeUntilKilled(owner: OwnerDrives): Promise<void> {
  let next = 0;
  const write = async (): Promise<void> => {
    for (;;) {
      const file = next;
      next += 1;
      await owner.change("d", async (drive) => {
        const [folder = "", name = ""] = filePath(file);
        await drive.makeDirectory([folder]);
        await drive.writeFile([folder, name], fileContent(file));
      });
      writeSync(1, `${file}\n`);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

/** Writes few files again and again, two at a time, notes each change, and tells of it once it is acknowledged. */
async function logUntilKilled(owner: OwnerDrives, first: number): Promise<void> {
  let next = first;
  const write = async (): Promise<void> => {
    for (;;) {
      const change = next;
      next += 1;
      await owner.change("d", async (drive) => {
        for (const name of loggedNames(change)) await writeNoted(drive, name, change);
      });
      writeSync(1, `${change}\n`);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

async function writeNoted(drive: DriveChange, name: string, change: number): Promise<void> {
  const since = drive.moment();
  const old = await drive.stat([name]);
  const content = loggedContent(change);
  await drive.writeFile([name], content);
  const before = old === undefined ? null : { size: old.size, modified: old.modified };
  const after = { size: content.length, modified: 1 };
  const origin = {
    root: "d",
    scheme: "file",
    op: "write",
    actor: ENGINE_OWNER,
    via: "p0",
    surface: "library",
  } as const;
  drive.note({ ...origin, action: "modified", kind: "file", path: [name], before, after }, since, drive.moment());
}

/** Adds to a file that others add to, and makes files of its own. */
async function count(owner: OwnerDrives, times: number): Promise<void> {
  for (let done = 0; done < times; ) {
    try {
      await owner.change("d", async (drive) => {
        const before = await drive.stat(["count"]);
        await drive.writeFile(["count"], new Uint8Array((before?.size ?? 0) + 1));
        await drive.writeFile([`own-${process.pid}-${done}`], Buffer.from("mine"));
      });
      done += 1;
    } catch (error) {
      // Others were faster too often, which whoever asks is told; it can be asked again.
      if (!(error instanceof Error && "code" in error && error.code === "CONFLICT")) throw error;
    }
  }
  writeSync(1, `${process.pid}\n`);
}

const store = await openEmbeddedStore({ path, flush: what === "durable" });
const keys = createOwnerKeys({ records: store.keys, venueKey: ENGINE_VENUE_KEY, clock: engineClock });
const engine = createDriveEngine({ store, keys, clock: engineClock, log: silentLog });
const owner = engine.owner(ENGINE_OWNER);
if (what === "count") await count(owner, Number(number));
else if (what === "logged") await logUntilKilled(owner, Number(number));
else await writeUntilKilled(owner);
await engine.close();
await store.close();
