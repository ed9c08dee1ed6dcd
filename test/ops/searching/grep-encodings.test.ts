import { describe, expect, test } from "@jest/globals";
import iconv from "iconv-lite";
import { useGround } from "../ground.js";

const ground = useGround({ roots: { old: { temp: true, encoding: "windows-1252" } } });

const hits = async (input: Parameters<typeof ground.run<"grep">>[1]): Promise<string[]> =>
  ((await ground.run("grep", input)).matches ?? []).map(({ path, line, text }) => `${path}:${line}:${text}`);

describe("file:grep finds what file:read can show", () => {
  const TEXT = "first\r\nnaïve straße\r\nlast 漢字\r\n";

  test.each([
    ["a literal", "straße"],
    ["an expression", "stra.e$"],
  ])("in UTF-16 of both orders: %s", async (_, pattern) => {
    ground.put("le.txt", Buffer.from(`\ufeff${TEXT}`, "utf16le"));
    ground.put("be.txt", Buffer.from(`\ufeff${TEXT}`, "utf16le").swap16());
    ground.put("plain.txt", TEXT);
    expect(await hits({ pattern })).toEqual(["be", "le", "plain"].map((name) => `${name}.txt:2:naïve straße`));
    expect(await hits({ pattern: "^first$" })).toHaveLength(3);
    expect(await hits({ pattern: "e\\nlast", multiline: true })).toHaveLength(3);
    expect(await hits({ pattern: "漢", path: "be.txt" })).toEqual(["be.txt:3:last 漢字"]);
  });

  test("beside bytes that are not UTF-8, which are shown as such", async () => {
    ground.put(
      "one",
      Buffer.concat([Buffer.from("Gr"), Buffer.of(0xfc), Buffer.from("sse\nplain words\n"), Buffer.of(0xe9)]),
    );
    expect(await hits({ pattern: "words" })).toEqual(["one:2:plain words"]);
    expect(await hits({ pattern: "w.rds$" })).toEqual(["one:2:plain words"]);
    expect(await hits({ pattern: "sse" })).toEqual(["one:1:Gr\ufffdsse"]);
    expect((await ground.run("grep", { pattern: "words", output: "files" })).paths).toEqual(["one"]);
    expect(await ground.run("grep", { pattern: "none" })).toMatchObject({ filesScanned: 1, complete: true });
  });

  test("and not in what is binary: a NUL at the start, or anywhere if it is not UTF-8", async () => {
    ground.put("start", "words\0");
    ground.put("later", Buffer.concat([Buffer.from("words\n".repeat(3000)), Buffer.of(0, 0xff)]));
    ground.put("text", `${"words\n".repeat(3000)}\0`);
    ground.put("half.txt", Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from("words", "utf16le"), Buffer.of(0x41)]));
    expect(await ground.run("grep", { pattern: "words", output: "files" })).toMatchObject({
      ...{ paths: ["text"], hidden: { binary: 3 } },
    });
  });

  test("or says that some are in another encoding", async () => {
    ground.put("a/plain.txt", "x\n");
    const bytes = Buffer.from("\ufeffx\n", "utf16le");
    ground.put("a/wide.txt", bytes);
    ground.put("a/binary", Buffer.of(0xe9, 0));
    for (const pattern of ["caf\u00e9", "\u0434\u0430", "\u65e5."]) {
      expect(await ground.run("grep", { pattern })).not.toHaveProperty("hint", expect.stringContaining("UTF-8"));
    }
    ground.put("b/old.txt", Buffer.from("un caf\u00e9\n", "latin1"));
    ground.put("b/russian.txt", iconv.encode("\u0434\u0430\n", "windows-1251"));
    const hint = expect.stringContaining("Some files are not UTF-8: pass their encoding");
    for (const pattern of ["caf\u00e9", "\u0434\u0430", "\u65e5."]) {
      for (const output of ["lines", "files", "count"] as const) {
        expect(await ground.run("grep", { pattern, output })).toMatchObject({ totalMatches: 0, hint });
      }
    }
    expect(await hits({ pattern: "caf\u00e9", encoding: "latin1" })).toEqual(["b/old.txt:1:un caf\u00e9"]);
    const silent = [
      { pattern: "cafe" },
      { pattern: "caf\u00e9", path: "a" },
      { pattern: "caf\u00e9s", encoding: "latin1" },
      { pattern: "\u00e9|x" },
    ];
    for (const input of silent) {
      expect((await ground.run("grep", input)).hint ?? "").not.toContain("UTF-8");
    }
    ground.put("c.txt", Buffer.concat([Buffer.alloc(9_000_000, "words\n"), Buffer.of(0xe9)]));
    expect(await ground.run("grep", { pattern: "\u00e9", path: "c.txt" })).toMatchObject({ filesScanned: 1, hint });
  });

  test("by the encoding of the call, or of the root", async () => {
    for (const encoding of ["latin1", "shift_jis", "utf-16le"]) {
      const text = encoding === "latin1" ? "x\nschön\n" : "x\n日本\n";
      ground.put(`${encoding}.txt`, iconv.encode(text, encoding, { addBOM: false }));
      const pattern = encoding === "latin1" ? "schön" : "日.";
      const path = `${encoding}.txt`;
      expect(await hits({ pattern, path, encoding })).toEqual([`${path}:2:${text.split("\n")[1]}`]);
      expect(await hits({ pattern, path })).toEqual([]);
    }
    await ground.adapter.invoke("file:write", { root: "old", path: "a", content: "price: 5 €\n" });
    const found = await ground.adapter.invoke("file:grep", { root: "old", pattern: "5 €" });
    expect(found.matches).toEqual([{ path: "a", line: 1, text: "price: 5 €" }]);
    expect((await ground.fail("grep", { pattern: "x", encoding: "klingon" })).code).toBe("INVALID_INPUT");
  });
});

describe("file:readMany reads what file:read can show", () => {
  test("each file in its encoding", async () => {
    ground.put("jis", iconv.encode("日本\n", "shift_jis"));
    ground.put("latin", Buffer.from("café\n", "latin1"));
    ground.put("wide", Buffer.from("\ufeffümlaut", "utf16le"));
    const { files } = await ground.run("readMany", {
      files: [{ path: "jis", encoding: "shift_jis" }, { path: "latin", encoding: "latin1" }, { path: "wide" }],
    });
    expect(files.map(({ content, encoding }) => [content, encoding])).toEqual([
      ["日本\n", "shift_jis"],
      ["café\n", "latin1"],
      ["\ufeffümlaut", "utf-16le"],
    ]);
    expect(await ground.fail("readMany", { files: [{ path: "jis", encoding: "none" }] })).toMatchObject({
      ...{ code: "INVALID_INPUT", message: expect.stringContaining("encoding") },
    });
  });
});
