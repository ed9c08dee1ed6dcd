import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { createVenue } from "../../../src/index.js";
import { entriesBelow } from "../../ops/ground.js";
import { runFileLine, useFileCommands } from "./file-stage.js";

const { on, inFolder } = useFileCommands({ "docs/a.txt": "one", "docs/sub/b.txt": "b", "docs/sub/in/c.txt": "c" });
const TREE = ["a.txt", "sub/", "sub/b.txt", "sub/in/", "sub/in/c.txt"];
const tree = () => entriesBelow(inFolder("docs"));

describe("put -r refuses a directory that holds its target", () => {
  const puts = (folder: string): string[][] => [
    ["put", "-r", folder, "d:bk"],
    ["put", "-r", folder, "d:"],
    ["put", "-r", folder, "d:sub/in"],
    ["put", "-r", join(folder, "sub"), "d:sub/in/new"],
    ["put", "-r", join(folder, "sub"), "d:"],
    ["put", "-r", join(folder, ".."), "d:bk"],
    ["put", "-rp", folder, "d:x/y/z"],
  ];

  test.each(puts("docs").map((args) => [args.join(" "), args] as const))("%s", async (_, args) => {
    const { status, stderr } = await on(args);
    expect([status, stderr]).toEqual([1, expect.stringContaining("cannot be copied into itself")]);
    expect(tree().filter((name) => !name.startsWith("x/"))).toEqual(TREE);
  });

  test("also by a link to either", async () => {
    symlinkSync(inFolder("docs"), inFolder("link"));
    symlinkSync("sub", inFolder("docs/within"));
    for (const [from, to] of [
      ["link", "d:bk"],
      ["docs/sub", "d:within/bk"],
      ["link/within", "d:sub/bk"],
    ] as const) {
      expect(await on(["put", "-r", from, to])).toMatchObject({ status: 1 });
      expect(tree()).toEqual([...TREE, "within"]);
    }
  });

  test("and copies what lies beside it in the same tree", async () => {
    expect(await on(["put", "-r", "docs/sub", "d:bk"])).toMatchObject({ status: 0, stderr: "" });
    expect(tree()).toEqual([...["a.txt", "bk/", "bk/b.txt", "bk/in/", "bk/in/c.txt"], ...TREE.slice(1)]);
    expect(await on(["put", "-r", "docs/sub/in", "d:bk"])).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(join(inFolder("docs"), "bk/in/c.txt"), "utf8")).toBe("c");
  });
});

describe("get -r refuses a directory that holds its target", () => {
  test.each([
    ["d:", "docs/bk"],
    ["d:", "docs"],
    ["d:sub", "docs/sub"],
    ["d:sub", "docs/sub/in/new"],
    ["d:sub", "docs/sub/in"],
  ])("%s into %s", async (from, to) => {
    const { status, stderr } = await on(["get", "-r", from, to]);
    expect([status, stderr]).toEqual([1, expect.stringContaining("cannot be copied into itself")]);
    expect(tree()).toEqual(TREE);
  });

  test("also by a link, and copies what lies beside it", async () => {
    symlinkSync(inFolder("docs/sub"), inFolder("link"));
    expect(await on(["get", "-r", "d:", "link/new"])).toMatchObject({ status: 1 });
    expect(tree()).toEqual(TREE);
    expect(await on(["get", "-r", "d:sub", "docs/bk"])).toMatchObject({ status: 0, stderr: "" });
    expect(readdirSync(inFolder("docs/bk"))).toEqual(["b.txt", "in"]);
  });
});

test("a venue on the same machine is no way around it", async () => {
  const venue = await createVenue(
    {
      ...{ port: 0, file: { roots: { data: { path: "docs" } } } },
      auth: { public: { enabled: true, caps: [{ with: "file://data/", can: "crud" }] } },
    },
    { baseDir: inFolder("") },
  );
  const { url } = await venue.listen();
  try {
    for (const args of [
      ["put", "-r", "docs", "data:bk"],
      ["put", "-r", ".", "data:bk"],
      ["get", "-r", "data:", "docs/bk"],
    ]) {
      const { status, stderr } = await runFileLine(inFolder(""), [...args, "--url", url]);
      expect([args, status, stderr]).toEqual([args, 1, expect.stringContaining("cannot be copied into itself")]);
      expect(tree()).toEqual(TREE);
    }
  } finally {
    await venue.close();
  }
});

test("who may write and not delete leaves nothing behind, and the copy ends", async () => {
  writeFileSync(
    inFolder("caps.json5"),
    '[{ with: "file://d/", can: "crud/read" }, { with: "file://d/", can: "crud/write" }]',
  );
  const { status } = await on(["put", "-r", "docs", "d:bk", "--caps", inFolder("caps.json5")]);
  expect(status).toBe(0);
  expect(existsSync(inFolder("docs/bk/bk/bk"))).toBe(false);
  expect(tree().filter((name) => name.includes("copy-check"))).toEqual([]);
  mkdirSync(inFolder("empty"));
});
