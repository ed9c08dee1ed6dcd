import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "@jest/globals";
import { createTarPacker } from "modern-tar";
import { useGround } from "../../ops/ground.js";

const ground = useGround();
const home = mkdtempSync(join(tmpdir(), "venue-files-tars-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const MODIFIED = Date.UTC(2001, 1, 3, 4, 5, 6);
const LONG = `${"a-long-name/".repeat(12)}${"x".repeat(120)}`;
const source = join(home, "src");
mkdirSync(join(source, "dir/empty"), { recursive: true });
mkdirSync(join(source, LONG, ".."), { recursive: true });
writeFileSync(join(source, "dir/a.txt"), "abc\n".repeat(1000));
writeFileSync(join(source, "grün.txt"), "green\n");
writeFileSync(join(source, LONG), "long\n");
writeFileSync(join(source, "big"), Buffer.alloc(3_000_000, "0123456789"));
utimesSync(join(source, "grün.txt"), MODIFIED / 1000, MODIFIED / 1000);
symlinkSync("dir/a.txt", join(source, "link"));
execFileSync("mkfifo", [join(source, "fifo")]);

const tar = (...args: string[]): Buffer => {
  execFileSync("tar", ["-cf", join(home, "x.tar"), "-C", source, ...args]);
  return readFileSync(join(home, "x.tar"));
};

type Header = Parameters<ReturnType<typeof createTarPacker>["controller"]["add"]>[0];

async function tarOf(entries: readonly (Omit<Header, "size"> & { readonly content?: string })[]): Promise<Buffer> {
  const { readable, controller } = createTarPacker();
  const parts: Uint8Array[] = [];
  const reading = (async () => {
    for await (const part of readable) parts.push(part);
  })();
  for (const { content = "", ...header } of entries) {
    const writer = controller.add({ mtime: new Date(MODIFIED), ...header, size: content.length }).getWriter();
    if (content !== "") await writer.write(Buffer.from(content));
    await writer.close();
  }
  controller.finalize();
  await reading;
  return Buffer.concat(parts);
}

/** Changes a header, and its sum with it. */
function withHeader(archive: Buffer, at: number, value: string, block = 0): Buffer {
  const bytes = Buffer.from(archive);
  const header = bytes.subarray(block, block + 512);
  header.write(value, at, "latin1");
  header.fill(0x20, 148, 156);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148,
    "latin1",
  );
  return bytes;
}

const namesIn = async (path: string) => (await ground.run("list", { path })).entries.map(({ name }) => name);

describe("tars of GNU tar", () => {
  test.each(["gnu", "pax", "ustar"])("in the format %s are looked into, packed and not", async (format) => {
    const paths = ["dir", "grün.txt", "big", "link", "fifo", ...(format === "ustar" ? [] : [LONG])];
    const bytes = tar(`--format=${format}`, ...paths);
    for (const [name, content] of [
      ["x.tar", bytes],
      ["x.tgz", gzipSync(bytes)],
      ["x.TAR.GZ", gzipSync(bytes)],
    ] as const) {
      ground.put(name, content);
      const { entries } = await ground.run("list", { path: `${name}!` });
      const types = Object.fromEntries(entries.map((entry) => [entry.name, entry.type]));
      expect(types).toMatchObject({
        dir: "directory",
        big: "file",
        link: "symlink",
        fifo: "other",
        "grün.txt": "file",
      });
      expect(await ground.run("read", { path: `${name}!/grün.txt` })).toMatchObject({ content: "green\n" });
      expect(await ground.run("stat", { path: `${name}!/grün.txt` })).toMatchObject({ modified: MODIFIED, size: 6 });
      expect(await ground.run("read", { path: `${name}!/dir/a.txt`, line: 999 })).toMatchObject({
        content: "abc\nabc\n",
      });
      expect(await ground.run("read", { path: `${name}!/big`, tail: 1, mode: "bytes" })).toMatchObject({ eof: true });
      expect(
        await ground.run("read", { path: `${name}!/big`, offset: 2_999_990, length: 5, mode: "text" }),
      ).toMatchObject({ content: "01234" });
      if (format !== "ustar")
        expect(await ground.run("read", { path: `${name}!/${LONG}` })).toMatchObject({ content: "long\n" });
      expect(await ground.run("grep", { pattern: "green|long", path: `${name}!` })).toMatchObject({
        totalMatches: format === "ustar" ? 1 : 2,
      });
      expect(await ground.fail("read", { path: `${name}!/link` })).toMatchObject({ code: "NOT_A_FILE" });
    }
  });

  test("with names below a dot, and more than one of a name", async () => {
    tar("./grün.txt", "dir/a.txt");
    writeFileSync(join(home, "grün.txt"), "newer\n");
    execFileSync("tar", ["-rf", join(home, "x.tar"), "-C", home, "grün.txt"]);
    ground.put("x.tar", readFileSync(join(home, "x.tar")));
    expect(await namesIn("x.tar!")).toEqual(["dir", "grün.txt"]);
    expect(await ground.run("read", { path: "x.tar!/grün.txt" })).toMatchObject({ content: "newer\n" });
  });
});

describe("a tar", () => {
  test("has names that no path has left out and counted, and hard links and devices listed", async () => {
    ground.put(
      "x.tar",
      await tarOf([
        ...[
          { name: "../up", content: "1" },
          { name: "/abs", content: "1" },
          { name: "a/b", content: "2" },
        ],
        ...[{ name: "hard", type: "link", linkname: "a/b" } as const, { name: "dev", type: "block-device" } as const],
      ]),
    );
    const { entries, hidden } = await ground.run("list", { path: "x.tar!" });
    expect(entries.map(({ name, type }) => [name, type])).toEqual([
      ["a", "directory"],
      ["dev", "other"],
      ["hard", "symlink"],
    ]);
    expect(hidden).toEqual({ unreadable: 2 });
  });

  test("that is damaged, cut or none says so", async () => {
    const whole = await tarOf([
      { name: "a", content: "text" },
      { name: "b", content: "text" },
    ]);
    const wrong: Readonly<Record<string, Buffer>> = {
      "a wrong sum": (() => {
        const bytes = Buffer.from(whole);
        bytes[0] = 0x7a;
        return bytes;
      })(),
      "a size beyond the end": withHeader(whole, 124, "77777777777"),
      "a negative size": withHeader(whole, 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
      "no number as size": withHeader(whole, 124, "zzz"),
      "no tar": Buffer.alloc(5000, "x"),
      empty: Buffer.alloc(0),
    };
    for (const [, bytes] of Object.entries(wrong)) {
      for (const [name, content] of [
        ["x.tar", bytes],
        ["x.tgz", gzipSync(bytes)],
      ] as const) {
        ground.put(name, content);
        const { code } = await ground.fail("list", { path: `${name}!` });
        expect(["BAD_FORMAT", "TOO_LARGE"]).toContain(code);
      }
    }
    const packed = gzipSync(whole);
    for (let cut = 0; cut < 16; cut++) {
      ground.put("x.tar", whole.subarray(0, Math.floor((whole.length * cut) / 16)));
      ground.put("x.tgz", packed.subarray(0, Math.floor((packed.length * cut) / 16)));
      for (const path of ["x.tar!", "x.tgz!"])
        expect(await ground.fail("list", { path })).toMatchObject({ code: "BAD_FORMAT", data: { reason: "damaged" } });
    }
    ground.put("x.tgz", whole);
    expect(await ground.fail("list", { path: "x.tgz!" })).toMatchObject({ code: "BAD_FORMAT" });
    expect(ground.internal).toEqual([]);
  });

  test("in any byte: an answer or a refusal, never a fault of ours", async () => {
    const whole = await tarOf([
      { name: "a", content: "text" },
      { name: LONG, content: "text" },
      { name: "c", content: "text" },
    ]);
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let round = 0; round < 200; round++) {
      const bytes = Buffer.from(whole);
      for (let count = random(4); count >= 0; count--) bytes[random(bytes.length)] = random(256);
      ground.put("x.tgz", gzipSync(bytes));
      await ground.run("grep", { pattern: "text", path: "x.tgz!" }).catch(({ code }) => {
        expect(["BAD_FORMAT", "TOO_LARGE"]).toContain(code);
      });
    }
    expect(ground.internal).toEqual([]);
  });

  test("with sparse files lists them and does not take their map for content", async () => {
    ground.put(
      "x.tar",
      withHeader(
        await tarOf([
          { name: "a", content: "map" },
          { name: "b", content: "good" },
        ]),
        156,
        "S",
      ),
    );
    expect(await ground.fail("read", { path: "x.tar!/a" })).toMatchObject({
      code: "BAD_FORMAT",
      data: { reason: "unsupported" },
    });
    expect(await ground.run("read", { path: "x.tar!/b" })).toMatchObject({ content: "good" });
  });

  test("that unpacks to more than 256 MB is too large", async () => {
    const head = await tarOf([{ name: "zeros" }]);
    const bytes = withHeader(head, 124, (300_000_000).toString(8).padStart(11, "0"));
    // Packed in members that say the same ten times.
    const zeros = Buffer.concat(Array(10).fill(gzipSync(Buffer.alloc(30_000_000), { level: 1 })));
    ground.put("x.tgz", Buffer.concat([gzipSync(bytes.subarray(0, 512)), zeros]));
    expect(await ground.fail("list", { path: "x.tgz!" })).toMatchObject({ code: "TOO_LARGE" });
    ground.put("y.tgz", zeros);
    expect(await ground.fail("list", { path: "y.tgz!" })).toMatchObject({ code: "TOO_LARGE" });
  });
});
