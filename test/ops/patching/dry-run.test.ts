import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import type { FileInputs } from "../../../src/schema/types.js";
import { openDrives, type TestDrives } from "../../backend/drive/open-drives.js";
import { failureOf, useGround } from "../ground.js";

type Changes = NonNullable<FileInputs["file:patch"]["changes"]>;
const add = (path: string): Changes[number] => ({ op: "write", path, content: path });
const del = (path: string): Changes[number] => ({ op: "delete", path });
const move = (path: string, to: string): Changes[number] => ({ op: "move", path, to });

const FILES = ["file", "dir/a", "dir/b", "kept/f"];

/** Without a code: the call succeeds. */
const CASES: [what: string, changes: Changes, code?: string][] = [
  ["a file below a new file", [add("n"), add("n/y")], "NOT_A_DIRECTORY"],
  ["a new file where a folder is made", [add("q/z"), add("q")], "IS_A_DIRECTORY"],
  ["a file below one that stays", [add("file/y")], "NOT_A_DIRECTORY"],
  ["a file deep below one that is changed", [add("file"), add("file/y/z")], "NOT_A_DIRECTORY"],
  ["a file below one that is gone", [del("file"), add("file/y")]],
  ["a folder that is not empty", [del("dir")], "NOT_EMPTY"],
  ["a folder of which one file goes", [del("dir/a"), del("dir")], "NOT_EMPTY"],
  ["a folder in which a file is made", [del("dir/a"), del("dir/b"), add("dir/c"), del("dir")], "NOT_EMPTY"],
  ["a folder that is emptied", [del("dir/a"), move("dir/b", "b"), del("dir")]],
  ["a folder below itself", [move("dir", "dir/in/it")], "INVALID_INPUT"],
  ["a file to itself", [move("file", "./file")], "INVALID_INPUT"],
  ["a file in a moved folder", [move("dir", "to"), del("to/a")], "INVALID_INPUT"],
  ["a file that is gone", [del("file"), move("file", "g")], "NOT_FOUND"],
  ["a folder in place of a file", [{ op: "mkdir", path: "file" }], "EXISTS_NOT_DIRECTORY"],
  ["a folder in place of a new file", [add("m"), { op: "mkdir", path: "m" }], "EXISTS_NOT_DIRECTORY"],
  ["a move onto what is there", [move("file", "dir/a")], "ALREADY_EXISTS"],
  ["a move onto what was there", [del("dir/a"), move("file", "dir/a")]],
  ["a move below a file", [move("dir/a", "file/a")], "NOT_A_DIRECTORY"],
  ["a folder that was moved away", [move("dir", "to"), add("dir/new")]],
  ["what is protected", [add("kept/x")], "DENIED_BY_POLICY"],
];

describe("a dry run of file:patch promises what the call does", () => {
  describe("on the host", () => {
    const ground = useGround({ root: { protect: ["kept"] } });
    test.each(CASES)("%s", async (...[, changes, code]) => {
      for (const path of FILES) ground.put(path, "x\n");
      const names = () => [ground.names(), ground.names("dir")].flat().toSorted();
      const before = names();
      if (code === undefined) {
        expect(await ground.run("patch", { changes, dryRun: true })).toMatchObject({ dryRun: true });
        expect([names(), ground.staged()]).toEqual([before, []]);
        await ground.run("patch", { changes });
        return;
      }
      expect(await ground.fail("patch", { changes, dryRun: true })).toMatchObject({ code });
      expect(await ground.fail("patch", { changes })).toMatchObject({ code });
      expect(names()).toEqual(before);
    });

    test("also in what directories it may make on the way", async () => {
      const caps = ["crud/write", "crud/read"].map((can) => ({ with: "file://r/one/two/f", can }));
      const changes = [add("one/two/f")];
      for (const dryRun of [true, false]) {
        expect(await ground.fail("patch", { changes, dryRun }, { caps })).toMatchObject({ code: "CAPABILITY_DENIED" });
      }
    });
  });

  describe("on a drive", () => {
    const caller = { callerDID: "did:key:z6MkAlice", authority: "owner" } as const;
    let drives: TestDrives;
    let adapter: HostedFileAdapter;
    beforeAll(async () => {
      drives = openDrives({ store: createMemoryStore() });
      const roots = Object.fromEntries(CASES.map((_, at) => [`d${at}`, { dlfs: `d${at}`, protect: ["kept"] }]));
      adapter = await assembleAdapter(parseFileConfig({ roots }, { baseDir: "/" }), {
        drives,
        discloseHostPaths: false,
      });
    });
    afterAll(async () => {
      await adapter.close();
      await drives.close();
    });

    test.each(CASES.map(([what, changes, code], at) => [what, `d${at}`, changes, code] as const))(
      "%s",
      async (...[, root, changes, code]) => {
        const call = (input: object) => adapter.invoke("file:patch", { root, ...input }, caller);
        await call({ changes: FILES.filter((path) => !path.startsWith("kept")).map(add) });
        const tree = async () => (await adapter.invoke("file:glob", { root, pattern: "**" }, caller)).paths;
        const before = await tree();
        if (code === undefined) {
          expect(await call({ changes, dryRun: true })).toMatchObject({ dryRun: true });
          expect(await tree()).toEqual(before);
          await call({ changes });
          return;
        }
        expect(await failureOf(call({ changes, dryRun: true }))).toMatchObject({ code });
        expect(await failureOf(call({ changes }))).toMatchObject({ code });
        expect(await tree()).toEqual(before);
      },
    );
  });
});
