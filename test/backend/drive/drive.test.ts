import { expect, test } from "@jest/globals";
import { drivesBelow } from "../../../src/backend/drive/below.js";
import { DriveBackend } from "../../../src/backend/drive/drive.js";
import { at } from "../../../src/backend-suite/access.js";
import type { GroupChange } from "../../../src/core/ports/backend.js";
import type { DriveChange } from "../../../src/drive/engine/engine.js";
import { backendSuite } from "../suite.js";
import { openDrives } from "./open-drives.js";

const OWNER = "did:key:z6MkOwner";

backendSuite(
  "drive",
  async () => {
    const drives = openDrives();
    return {
      backend: new DriveBackend({ open: () => drives.of(OWNER), drive: "notes" }),
      cleanup: () => drives.close(),
    };
  },
  { maxDepth: 64 },
);

test("the way to the top of a root that is a directory of a drive is gone once a change, however many entries it makes", async () => {
  const drives = openDrives();
  const own = await drives.of(OWNER);
  const made: string[] = [];
  /** The tree, with a record of the directories that are made in it. */
  const recorded = (tree: DriveChange): DriveChange =>
    new Proxy(tree, {
      get(_, key) {
        const member: unknown = Reflect.get(tree, key);
        if (key === "makeDirectory") {
          return (path: readonly string[]) => {
            made.push(path.join("/"));
            return tree.makeDirectory(path);
          };
        }
        return typeof member === "function" ? member.bind(tree) : member;
      },
    });
  const open = async () => {
    const { log } = own;
    const change: typeof own.change = (drive, work) => own.change(drive, (tree) => work(recorded(tree)));
    return drivesBelow({ log, change, read: (drive) => own.read(drive), stage: (content) => own.stage(content) }, [
      "a",
      "b",
    ]);
  };
  const backend = new DriveBackend({ open, drive: "notes" });
  const options = { parents: false };
  const write = (path: string): GroupChange => ({
    ...{ kind: "write", at: at(path), options },
    body: { load: () => Buffer.from(path) },
  });
  await backend.changeAll([{ kind: "mkdir", at: at("c"), options }, ...["c/1", "c/2", "c/3"].map(write)]);
  expect(made).toEqual(["a", "a/b", "a/b/c"]);
  await drives.close();
});
