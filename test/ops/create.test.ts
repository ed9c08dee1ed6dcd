import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { useGround } from "./ground.js";

const ground = useGround({ root: { readOnly: false }, roots: { fixed: { temp: true, readOnly: true } } });
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const STORED = hashOf("stored");
const resolveAsset = async (reference: string) =>
  reference === `sha256:${STORED}` || reference === "a"
    ? { content: Buffer.from("stored"), sha256: STORED, contentType: "text/x-stored" }
    : undefined;

describe("a file is created", () => {
  test.each([
    ["empty", {}, "", {}],
    ["empty, of a type", { contentType: "text/plain" }, "", { contentType: "text/plain" }],
    ["with text", { inline: "gr\u00fc\u00dfe" }, "gr\u00fc\u00dfe", {}],
    ["with text of a hash", { inline: "x", sha256: `0x${hashOf("x").toUpperCase()}` }, "x", {}],
    ["with stored content", { sha256: STORED }, "stored", { contentType: "text/x-stored" }],
    ["with an asset", { ref: "a" }, "stored", { contentType: "text/x-stored" }],
    ["with an asset by the other word", { dlfs: "a", contentType: "x/y" }, "stored", { contentType: "x/y" }],
    ["with an asset of a hash", { ref: "a", sha256: STORED }, "stored", { contentType: "text/x-stored" }],
    ["with another file", { ref: "file://r/from" }, "other", {}],
    ["with another file of a hash", { ref: "file:/r/from", sha256: hashOf("other") }, "other", {}],
  ])("%s", async (_what, content, text, more) => {
    ground.put("from", "other");
    const answer = await ground.run("create", { path: "a/../new", content }, { resolveAsset });
    const etag = expect.any(String);
    expect(answer).toEqual({ ref: "file://r/new", written: Buffer.byteLength(text), created: true, etag, ...more });
    expect(ground.get("new").toString()).toBe(text);
    expect(ground.staged()).toEqual([]);
  });

  test("under the name that its content has", async () => {
    expect(await ground.run("create", { content: { inline: "x", fileName: "named" } })).toMatchObject({
      ref: "file://r/named",
    });
    expect(await ground.fail("create", { content: { inline: "x" } })).toMatchObject({
      code: "INVALID_INPUT",
      data: { pointer: "/path" },
    });
  });

  test("once, however often the call is repeated", async () => {
    const input = { path: "once", operationId: "one" };
    const first = await ground.run("create", input);
    expect(await ground.run("create", input)).toEqual(first);
    expect(await ground.fail("create", { path: "once" })).toMatchObject({ code: "ALREADY_EXISTS" });
  });
});

describe("nothing is created", () => {
  test.each([
    ["over a file", { path: "there" }, "ALREADY_EXISTS"],
    ["over a folder", { path: "dir" }, "ALREADY_EXISTS"],
    ["over the root", { path: "" }, "ALREADY_EXISTS"],
    ["without the folder", { path: "no/new" }, "PARENT_MISSING"],
    ["of two contents", { path: "new", content: { inline: "x", ref: "a" } }, "INVALID_INPUT"],
    ["of one reference twice", { path: "new", content: { ref: "a", dlfs: "a" } }, "INVALID_INPUT"],
    ["of another hash", { path: "new", content: { inline: "x", sha256: STORED } }, "CONFLICT"],
    ["of a file with another hash", { path: "new", content: { ref: "file://r/there", sha256: STORED } }, "CONFLICT"],
    ["of no hash", { path: "new", content: { sha256: "abc" } }, "INVALID_INPUT"],
    ["of content that is not stored", { path: "new", content: { sha256: hashOf("x") } }, "ASSET_NOT_FOUND"],
    ["of what is in no place we know", { path: "new", content: { ref: "w/records/x" } }, "ASSET_NOT_FOUND"],
    ["of another scheme", { path: "new", content: { ref: "ftp://a/b" } }, "INVALID_INPUT"],
    ["of a reference without a root", { path: "new", content: { ref: "file:///x" } }, "INVALID_INPUT"],
    ["of a file that is not there", { path: "new", content: { ref: "file://r/none" } }, "NOT_FOUND"],
    ["of a folder", { path: "new", content: { ref: "file://r/dir" } }, "IS_A_DIRECTORY"],
    ["of a file in no root", { path: "new", content: { ref: "file://nope/a" } }, "UNKNOWN_ROOT"],
  ])("%s", async (_what, input, code) => {
    ground.put("there", "old");
    ground.mkdir("dir");
    expect(await ground.fail("create", input, { resolveAsset })).toMatchObject({ code });
    expect(ground.names()).toEqual(["dir", "there"]);
    expect(ground.get("there").toString()).toBe("old");
    expect(ground.staged()).toEqual([]);
  });

  test("in a root that is read-only, or by a caller without rights", async () => {
    const call = ground.adapter.invoke("file:create", { root: "fixed", path: "a" });
    await expect(call).rejects.toMatchObject({ code: "READ_ONLY_ROOT" });
    const caps = [{ with: "file://r/", can: "crud/read" }];
    expect(await ground.fail("create", { path: "new" }, { caps })).toMatchObject({ code: "CAPABILITY_DENIED" });
    expect(ground.names()).toEqual([]);
  });

  test("of a file that the caller may not read, there or not", async () => {
    ground.put("secret/a", "x");
    const caps = [{ with: "file://r/new", can: "crud/write" }];
    for (const file of ["secret/a", "secret/b"]) {
      const failure = await ground.fail("create", { path: "new", content: { ref: `file://r/${file}` } }, { caps });
      expect(failure).toMatchObject({
        code: "CAPABILITY_DENIED",
        data: { required: { with: `file://r/${file}`, can: "crud/read" } },
      });
    }
  });
});
