/** @jest-environment ./test/platforms/macos/environment.mjs */
// Who may change what, where the system has no id of its run and names fold.
import "./as-macos.js";
import { lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, jest, test } from "@jest/globals";
import { ownIdentity, printIdentity } from "../../../src/process/identity.js";
import { useGround } from "../../ops/ground.js";

const ground = useGround({ limits: { timeoutMs: 20_000 } });
const { run } = ground;

describe("a lock file brought along", () => {
  let lock = "";
  let ctimeMs = 0;
  const now = jest.spyOn(Date, "now");
  const plant = (text: string): void => {
    lock = join(ground.dir, ".venue-files/lock");
    mkdirSync(join(ground.dir, ".venue-files"), { recursive: true });
    writeFileSync(lock, text);
    ({ ctimeMs } = lstatSync(lock));
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  afterAll(() => now.mockRestore());

  test.each([
    ["by Linux", 10_000, "d4032323-4026531836-999999-1-0123456789abcdef"],
    [
      "by a process that has this number now",
      120_000,
      printIdentity({ ...ownIdentity(), start: 2 ** 40 }, "0".repeat(16)),
    ],
  ])("%s holds up a change with a condition for %d ms after it came", async (_name, ms, text) => {
    plant(text);
    now.mockImplementation(() => ctimeMs + ms - 10);
    const write = run("write", { path: "a.txt", content: "one", ifNoneMatch: "*" });
    while (now.mock.calls.length < 40) await turn();
    expect(lstatSync(lock).ctimeMs).toBe(ctimeMs);
    now.mockImplementation(() => ctimeMs + ms + 10);
    await write;
    expect(ground.get("a.txt").toString()).toBe("one");
  });
});

describe("changes by two spellings at a time", () => {
  test("wait for each other: nothing is lost", async () => {
    ground.put("Notes/Cafe\u0301.md", "");
    const spellings = ["Notes/Cafe\u0301.md", "notes/caf\u00e9.md", "NOTES/CAF\u00c9.MD"];
    const appends = Array.from({ length: 30 }, (_, at) =>
      run("append", { path: spellings[at % spellings.length] ?? "", content: `${at}\n` }),
    );
    await Promise.all(appends);
    const lines = ground.get("Notes/Cafe\u0301.md").toString().trim().split("\n");
    expect(lines.map(Number).sort((a, b) => a - b)).toEqual(appends.map((_, at) => at));
  });

  test("with the same condition: one is made", async () => {
    ground.put("a.txt", "one");
    const { etag } = (await run("read", { path: "a.txt" })) as { etag: string };
    const spellings = ["a.txt", "A.txt", "a.TXT", "A.TXT"];
    const writes = spellings.map((path) => run("write", { path, content: path, ifMatch: etag }));
    const made = (await Promise.allSettled(writes)).filter(({ status }) => status === "fulfilled");
    expect(made).toHaveLength(1);
    const creates = ["new.txt", "NEW.txt", "New.TXT"].map((path) =>
      run("write", { path, content: path, ifNoneMatch: "*" }),
    );
    expect((await Promise.allSettled(creates)).filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(ground.names()).toHaveLength(2);
  });

  test("edits of one file are both made", async () => {
    ground.put("a.txt", "one\ntwo\nthree\n");
    const edits = [
      ["a.txt", "one", "1"],
      ["A.TXT", "two", "2"],
      ["A.txt", "three", "3"],
    ].map(([path = "", oldText = "", newText = ""]) => run("edit", { path, oldText, newText }));
    await Promise.all(edits);
    expect(ground.get("a.txt").toString()).toBe("1\n2\n3\n");
  });
});
