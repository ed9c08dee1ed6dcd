import { createHash } from "node:crypto";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { etagOf, hashText } from "../../../src/core/etag.js";
import { failure, useGround } from "../ground.js";

const ground = useGround();
const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const etag = (text: string): string => etagOf(sha(text));

const caps = (...abilities: string[]) => ({ caps: abilities.map((can) => ({ with: "file://r/", can })) });

const conflict = (verb: string, expected: string, current?: string | null) =>
  failure(
    "CONFLICT",
    `Cannot ${verb} "a": it changed since you read it (expected ${expected === "*" ? "nothing" : expected}${
      current === undefined ? "" : `, now ${current ?? "missing"}`
    }). ${expected === "*" ? "It is there already: read it before you replace it, or choose another name" : "Read it again"}`,
    "a",
    { expected, ...(current === undefined ? {} : { current }) },
  );

describe("changes with a precondition", () => {
  test("answer with the etag that the next one is made on", async () => {
    const first = await ground.run("write", { path: "a", content: "one", ifNoneMatch: "*" });
    expect(first).toEqual({ written: 3, created: true, etag: etag("one") });
    const second = await ground.run("write", { path: "a", content: "two", ifMatch: first.etag ?? "" });
    expect(second).toEqual({ written: 3, created: false, etag: etag("two") });
    const third = await ground.run("append", { path: "a", content: "!", ifMatch: hashText(sha("two")) });
    expect(third).toEqual({ appended: 1, created: false, size: 4, etag: etag("two!") });
    const gone = await ground.run("delete", { path: "a", ifMatch: third.etag ?? "" });
    expect(gone).toEqual({ deleted: true, existed: true });
    expect(await ground.run("mkdir", { path: "a", ifNoneMatch: "*" })).toEqual({ created: true, path: "a" });
  });

  test("are refused with what is there now, and change nothing", async () => {
    ground.put("a", "one");
    const stale = { path: "a", ifMatch: etag("old") };
    for (const [operation, input] of [
      ["write", { ...stale, content: "x" }],
      ["append", { ...stale, content: "x" }],
      ["delete", stale],
    ] as const) {
      expect(await ground.fail(operation, input)).toEqual(conflict(operation, etag("old"), etag("one")));
    }
    const taken = { path: "a", content: "x", ifNoneMatch: "*" };
    expect(await ground.fail("write", taken)).toEqual(conflict("write", "*", etag("one")));
    expect(ground.get("a").toString()).toBe("one");
    expect(ground.names()).toEqual(["a"]);
  });

  test("are refused where nothing is", async () => {
    const hash = hashText(sha("one"));
    for (const operation of ["write", "append"] as const) {
      const failed = await ground.fail(operation, { path: "a", content: "x", ifMatch: hash });
      expect(failed).toEqual(conflict(operation, hash, null));
    }
    expect(await ground.fail("delete", { path: "a", ifMatch: hash })).toEqual(conflict("delete", hash, null));
    expect(ground.names()).toEqual([]);
  });

  test("are judged on what a link leads to; a link itself has no content to delete it by", async () => {
    ground.put("dir/a", "one");
    symlinkSync("dir/a", join(ground.dir, "link"));
    await ground.run("write", { path: "link", content: "two", ifMatch: etag("one") });
    expect(ground.get("dir/a").toString()).toBe("two");
    const expected = failure("NOT_A_FILE", "Not a regular file: link", "link");
    expect(await ground.fail("delete", { path: "link", ifMatch: etag("two") })).toEqual(expected);
    const directory = await ground.fail("delete", { path: "dir", recursive: true, ifMatch: etag("two") });
    expect(directory).toEqual(
      failure("IS_A_DIRECTORY", "Not a regular file: dir. It is a directory: list it with file:list", "dir"),
    );
    expect(ground.names()).toEqual(["dir", "link"]);
  });

  test("tell whoever may not read nothing of what is there", async () => {
    ground.put("a", "one");
    const stale = { path: "a", content: "x", ifMatch: etag("old") };
    const context = caps("crud/write", "crud/delete");
    expect(await ground.fail("write", stale, context)).toEqual(conflict("write", etag("old")));
    expect(await ground.fail("delete", { path: "a", ifMatch: etag("old") }, context)).toEqual(
      conflict("delete", etag("old")),
    );
    const added = await ground.run("append", { path: "a", content: "!", ifMatch: etag("one") }, context);
    expect(added).toEqual({ appended: 1, created: false, size: 4 });
    const counted = await ground.fail("append", { path: "a", content: "!", expectedSize: 3 }, context);
    expect(counted).toEqual(conflict("append", "3 bytes"));
  });

  test.each([
    ["write", { content: "x", ifMatch: "k3v5x2aq", ifNoneMatch: "*" }, "/ifNoneMatch"],
    ["write", { content: "x", ifMatch: "" }, "/ifMatch"],
    ["write", { content: "x", ifMatch: "K3V5X2AQ" }, "/ifMatch"],
    ["write", { content: "x", ifMatch: '"k3v5x2aq"' }, "/ifMatch"],
    ["write", { content: "x", ifMatch: "sha256:abc" }, "/ifMatch"],
    ["write", { content: "x", ifNoneMatch: "k3v5x2aq" }, "/ifNoneMatch"],
    ["append", { content: "x", ifMatch: "*" }, "/ifMatch"],
    ["append", { content: "x", expectedSize: -1 }, "/expectedSize"],
    ["append", { content: "x", expectedSize: 1.5 }, "/expectedSize"],
    ["delete", { ifMatch: "*" }, "/ifMatch"],
    ["mkdir", { ifNoneMatch: "x" }, "/ifNoneMatch"],
  ] as const)("%s: %j is no precondition", async (operation, input, pointer) => {
    const failed = await ground.fail(operation, { path: "a", ...input });
    expect([failed.code, failed.data["pointer"]]).toEqual(["INVALID_INPUT", pointer]);
    expect(ground.names()).toEqual([]);
  });

  test.each([
    ["append", { content: "x", ifNoneMatch: "*" }],
    ["delete", { ifNoneMatch: "*" }],
    ["mkdir", { ifMatch: "k3v5x2aq" }],
    ["write", { content: "x", expectedSize: 1 }],
  ] as const)("%s: %j is unknown", async (operation, input) => {
    expect((await ground.fail(operation, { path: "a", ...input })).code).toBe("INVALID_INPUT");
  });
});

describe("an append with a size", () => {
  test("can be made again when its answer was lost", async () => {
    const chunk = { path: "a", content: "data", expectedSize: 0 };
    expect(await ground.run("append", chunk)).toEqual({ appended: 4, created: true, size: 4, etag: etag("data") });
    expect(await ground.run("append", chunk)).toEqual({ appended: 0, created: false, size: 4, alreadyApplied: true });
    await ground.run("append", { path: "a", content: "more", expectedSize: 4 });
    const late = await ground.fail("append", chunk);
    expect([late.code, late.data["currentSize"]]).toEqual(["CONFLICT", 8]);
    expect(late.message).toBe(
      'Cannot append "a": it changed since you read it (expected 0 bytes, now 8 bytes). Read it again',
    );
    expect(ground.get("a").toString()).toBe("datamore");
  });
});
