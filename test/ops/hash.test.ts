import { statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { dispatchOn } from "../dispatch/fake.js";
import { etagOfContent } from "./content/etags.js";
import { failure, useGround } from "./ground.js";

const ground = useGround();
/** Of the three bytes `abc`, as everybody knows it. */
const ABC = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

describe("file:hash", () => {
  test("tells the version of a file", async () => {
    ground.put("dir/abc", "abc");
    expect(await ground.run("hash", { path: "/dir/./abc" })).toEqual({
      ...{ path: "dir/abc", hash: ABC, etag: etagOfContent("abc"), size: 3 },
    });
  });

  test.each([0, 1, 262_143, 262_144, 262_145, 1_000_000])("of any size: %d bytes", async (size) => {
    const bytes = Buffer.alloc(size, "0123456789");
    ground.put("file", bytes);
    expect(await ground.run("hash", { path: "file" })).toMatchObject({ etag: etagOfContent(bytes), size });
  });

  test.each([0, 1, 262_143, 262_144, 600_000])(
    "of a file that has grown since it was opened at %d bytes",
    async (size) => {
      const bytes = Buffer.alloc(1_000_000, "0123456789");
      const lengths: number[] = [];
      const read = (offset: number, length: number, into = Buffer.alloc(0)) => {
        lengths.push(length);
        bytes.copy(into, 0, offset, offset + length);
        return into.subarray(0, Math.min(length, bytes.length - offset));
      };
      const { call } = dispatchOn({ backend: { open: () => ({ size, modified: 0, read, close() {} }) } });
      expect(await call("hash")).toMatchObject({ etag: etagOfContent(bytes), size: bytes.length });
      expect(lengths[0]).toBe(Math.min(262_144, size + 1));
      expect(lengths.length).toBeLessThanOrEqual(5);
    },
  );

  test("of files only", async () => {
    ground.mkdir("dir");
    expect(await ground.fail("hash", { path: "dir" })).toEqual(
      failure("IS_A_DIRECTORY", "Not a regular file: dir. It is a directory: list it with file:list", "dir"),
    );
    expect(await ground.fail("hash", { path: "none" })).toEqual(failure("NOT_FOUND", "Not found: r:none", "none"));
  });

  test("reads a file whose content is known no second time, and one that may change every time", async () => {
    let stamp: string | undefined = "1";
    let reads = 0;
    const open = () => ({
      ...{ size: 3, modified: 0, close() {} },
      ...(stamp === undefined ? {} : { stamp }),
      read: (offset: number) => {
        reads++;
        return Buffer.from("abc").subarray(offset);
      },
    });
    const { call } = dispatchOn({ backend: { open } });
    const count = async (): Promise<number> => {
      const before = reads;
      expect(await call("hash")).toMatchObject({ hash: ABC, size: 3 });
      return reads - before;
    };
    expect([await count(), await count()]).toEqual([1, 0]);
    stamp = "2";
    expect(await count()).toBe(1);
    stamp = undefined;
    expect([await count(), await count()]).toEqual([1, 1]);
  });
});

describe("file:stat with hash", () => {
  test("tells it, of files only", async () => {
    ground.put("abc", "abc");
    expect(await ground.run("stat", { path: "abc", hash: true })).toMatchObject({
      ...{ exists: true, size: 3, hash: ABC, etag: etagOfContent("abc") },
    });
    ground.mkdir("dir");
    expect(await ground.run("stat", { path: "dir", hash: true })).not.toHaveProperty("hash");
    expect(await ground.run("stat", { path: "none", hash: true })).toEqual({ exists: false });
  });
});

describe("an etag", () => {
  test("comes without reading where the content is known, and never of a content that has changed", async () => {
    const path = join(ground.dir, "file");
    const put = (content: string) => {
      writeFileSync(path, content);
      utimesSync(path, 1, 1);
      // However long a busy machine takes for what comes.
      jest.spyOn(Date, "now").mockReturnValue(Math.ceil(statSync(path).ctimeMs));
    };
    put("abc");
    // A change of a minute ago would be settled; that of this very moment is not, whatever time the file claims.
    expect(await ground.run("stat", { path: "file" })).not.toHaveProperty("etag");
    expect(await ground.run("read", { path: "file" })).toMatchObject({ etag: etagOfContent("abc") });
    expect(await ground.run("stat", { path: "file" })).not.toHaveProperty("etag");
    put("xyz");
    expect(await ground.run("read", { path: "file" })).toMatchObject({ etag: etagOfContent("xyz") });
    expect(await ground.run("read", { path: "file", offset: 1 })).not.toHaveProperty("etag");
    jest.restoreAllMocks();
  });
});
