import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter, type FileAdapter, type FileConfigInput, type InvokeContext } from "../../src/index.js";
import { failureOf } from "./ground.js";

let home = "";
beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-roots-")));
  for (const name of ["docs", "archive"]) mkdirSync(join(home, name));
  symlinkSync(join(home, "docs"), join(home, "link"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

async function withRoots<T>(config: FileConfigInput, work: (adapter: FileAdapter) => Promise<T>): Promise<T> {
  const adapter = await createFileAdapter(config);
  try {
    return await work(adapter);
  } finally {
    await adapter.close();
  }
}

const rootsConfig = (): NonNullable<FileConfigInput["roots"]> => ({
  zoo: join(home, "docs"),
  archive: { path: join(home, "archive"), readOnly: true, description: "Old things\nnot to be changed" },
  scratch: { temp: true, prefix: "mine-" },
});

const rootsOf = (adapter: FileAdapter, context: InvokeContext = {}) => adapter.invoke("file:roots", {}, context);

/** Of an empty temp root. */
const quota = { bytes: 1_073_741_824, usedBytes: 0, usedFiles: 0 };

describe("file:roots", () => {
  test("lists every root in configuration order, with its kind, host path, and note", async () => {
    const { roots } = await withRoots({ roots: rootsConfig() }, (adapter) => rootsOf(adapter));
    expect(roots).toEqual([
      { name: "zoo", path: join(home, "docs"), kind: "host", readOnly: false, kept: false, reason: "off" },
      {
        name: "archive",
        path: join(home, "archive"),
        kind: "host",
        readOnly: true,
        description: "Old things\nnot to be changed",
      },
      { name: "scratch", path: expect.stringMatching(/^\/.*\/mine-[^/]{6}$/), kind: "temp", readOnly: false, quota },
    ]);
  });

  test("shows no host path where the configuration keeps them to itself", async () => {
    const { roots } = await withRoots({ roots: rootsConfig(), discloseHostPaths: false }, (adapter) =>
      rootsOf(adapter),
    );
    expect(roots.map(({ path }) => path)).toEqual(["file://zoo/", "file://archive/", "file://scratch/"]);
    expect(JSON.stringify(roots)).not.toContain(home);
  });

  test("shows the canonical path of a root that is configured through a link", async () => {
    const { roots } = await withRoots({ roots: { docs: join(home, "link") } }, rootsOf);
    expect(roots[0]?.path).toBe(join(home, "docs"));
  });

  test("says what is denied and protected, with paths only where host paths are disclosed", async () => {
    const many = Array.from({ length: 15 }, (_, index) => `*.x${index}`);
    const docs = { path: join(home, "docs"), deny: ["@secrets", "clients/acme/**"], protect: ["@git", ...many] };
    const config = (discloseHostPaths: boolean) => ({
      roots: { docs, plain: join(home, "archive") },
      discloseHostPaths,
    });
    const [all] = (await withRoots(config(true), rootsOf)).roots;
    expect(all).toMatchObject({ deny: docs.deny, protect: ["@git", ...many.slice(0, 9), "6 more"] });
    const [some, plain] = (await withRoots(config(false), rootsOf)).roots;
    expect(some).toMatchObject({ deny: ["@secrets", "1 more"] });
    expect(plain).not.toHaveProperty("deny");
    expect(plain).not.toHaveProperty("protect");
  });

  test("is one temp root where none is configured", async () => {
    const { roots } = await withRoots({}, rootsOf);
    expect(roots).toEqual([{ name: "tmp", path: expect.any(String), kind: "temp", readOnly: false, quota }]);
  });

  const visible: readonly [string, unknown, string[]][] = [
    ["everything", [{ with: "file://", can: "crud/read" }], ["zoo", "archive", "scratch"]],
    ["one root", [{ with: "file://archive/", can: "crud/read" }], ["archive"]],
    ["a path in a root", [{ with: "file://zoo/a/b", can: "crud/read" }], ["zoo"]],
    [
      "reading in one root, writing in another",
      [
        { with: "file://scratch/in", can: "crud/write" },
        { with: "file://zoo", can: "crud" },
      ],
      ["zoo", "scratch"],
    ],
    [
      "something in a root that is none",
      [
        { with: "file://zoology", can: "crud" },
        { with: "file://archive", can: "*" },
      ],
      ["archive"],
    ],
  ];
  test.each(visible)("lists exactly the roots in which a caller holds a grant: %s", async (_, caps, expected) => {
    const { roots } = await withRoots({ roots: rootsConfig() }, (adapter) => rootsOf(adapter, { caps }));
    expect(roots.map(({ name }) => name)).toEqual(expected);
  });

  const refused: readonly [string, unknown][] = [
    ["nothing", []],
    ["no reading anywhere", [{ with: "file://zoo", can: "crud/write" }]],
    ["reading only where no root is", [{ with: "file://zoology", can: "crud/read" }]],
  ];
  test.each(refused)("is denied to a caller who holds %s", async (_, caps) => {
    const failed = await withRoots({ roots: rootsConfig() }, (adapter) => failureOf(rootsOf(adapter, { caps })));
    expect(failed.code).toBe("CAPABILITY_DENIED");
    expect(failed.message).toMatch(/^Capability denied: file:roots requires crud\/read on file:\/\/\. /);
    expect(failed.data["required"]).toEqual({ with: "file://", can: "crud/read" });
  });

  test("takes no fields", async () => {
    const failed = await withRoots({}, (adapter) => failureOf(adapter.invoke("file:roots" as string, { root: "tmp" })));
    expect(failed).toEqual({
      code: "INVALID_INPUT",
      message: "Unknown field 'root'. Known fields: none",
      data: { pointer: "/root", expected: "no fields" },
    });
  });

  test.each([[undefined], [null], [{}]])("takes %p for its input", async (input) => {
    const listed = await withRoots({}, (adapter) => adapter.invoke("file:roots" as string, input));
    expect(listed).toMatchObject({ roots: [{ name: "tmp" }] });
  });
});
