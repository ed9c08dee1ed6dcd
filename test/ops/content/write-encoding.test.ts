import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { useBed } from "../../profiles/everruns/bed.js";
import { failure, useGround } from "../ground.js";

const hex = (bytes: Buffer): string => bytes.toString("hex");
const utf16le = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");
const utf16be = (text: string): Buffer => utf16le(text).swap16();
const writer = { caps: [{ with: "file://r/", can: "crud/write" }] };
const noWay = (encoding: string) =>
  failure(
    "NOT_TEXT",
    `The file's encoding, ${encoding}, has no way to write the new text. Use characters it has, or write bytes (base64)`,
    "file",
  );

describe("text that is written to a root with an encoding", () => {
  const ground = useGround({ root: { encoding: "latin1" }, limits: { maxWriteBytes: 8 } });
  const bytes = (): string => hex(ground.get("file"));

  test("has it, and reads back as it was given", async () => {
    expect(await ground.run("write", { path: "file", content: "é\n" })).toMatchObject({ written: 2 });
    expect(await ground.run("append", { path: "file", content: "ü\n" })).toMatchObject({ appended: 2, size: 4 });
    expect(bytes()).toBe("e90afc0a");
    expect(await ground.run("read", { path: "file" })).toMatchObject({ content: "é\nü\n" });
    await ground.run("write", { path: "file", value: ["é"] });
    expect(await ground.run("read", { path: "file", mode: "json" })).toMatchObject({ value: ["é"] });
    await ground.run("patch", { patch: "*** Begin Patch\n*** Add File: new\n+é\n*** End Patch\n" });
    expect(hex(ground.get("new"))).toBe("e90a");
  });

  test("is refused where it has no way to write it, and nothing is changed", async () => {
    ground.put("file", "old");
    for (const name of ["write", "append"]) {
      expect(await ground.fail(name, { path: "file", content: "日本" })).toEqual(noWay("latin1"));
      expect(await ground.fail(name, { path: "file", value: "日本" })).toEqual(noWay("latin1"));
      expect(await ground.fail(name, { path: "file", content: "\ud800" })).toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(ground.get("file").toString()).toBe("old");
  });

  test("is measured by its bytes; base64 stays as it is", async () => {
    await ground.run("write", { path: "file", content: "éééééééé" });
    expect(await ground.fail("write", { path: "file", content: "ééééééééé" })).toMatchObject({ code: "TOO_LARGE" });
    expect(bytes()).toBe("e9".repeat(8));
    await ground.run("write", { path: "file", bytes: "w6k=" });
    expect(bytes()).toBe("c3a9");
  });
});

describe("text that is written to a root in UTF-16", () => {
  const ground = useGround({ root: { encoding: "utf-16" }, roots: { be: { temp: true, encoding: "utf-16be" } } });

  test("starts with a mark where its order would not be known without one", async () => {
    for (const content of ["é", "\ufeffé"]) {
      await ground.run("write", { path: "file", content });
      await ground.run("append", { path: "file", content: "!" });
      expect(ground.get("file")).toEqual(utf16le("é!"));
    }
    const place = { root: "be", path: "file" };
    await ground.adapter.invoke("file:write", { ...place, content: "é" });
    expect(await ground.adapter.invoke("file:append", { ...place, content: "!" })).toMatchObject({ size: 4 });
    expect(await ground.adapter.invoke("file:read", { ...place })).toMatchObject({ content: "é!" });
  });

  test("is not added to a file that is none", async () => {
    ground.put("file", "ab");
    expect(await ground.fail("append", { path: "file", content: "c" })).toEqual(
      failure("NOT_TEXT", "File is not valid utf-16 text. Pass its encoding, or add bytes (base64)", "file"),
    );
    expect(ground.get("file").toString()).toBe("ab");
  });
});

describe("text that is added to a file with a byte order mark", () => {
  const ground = useGround({ limits: { maxWriteBytes: 12 } });

  test("goes on in its encoding, also where the append is repeated or has a condition", async () => {
    for (const encode of [utf16le, utf16be]) {
      ground.put("file", encode("é\n"));
      expect(await ground.run("append", { path: "file", content: "ende\n" })).toMatchObject({ appended: 10, size: 16 });
      expect(ground.get("file")).toEqual(encode("é\nende\n"));
      const again = { path: "file", content: "ende\n", expectedSize: 6 };
      expect(await ground.run("append", again)).toMatchObject({ appended: 0, alreadyApplied: true, size: 16 });
      const { etag = "" } = await ground.run("read", { path: "file" });
      expect(await ground.run("append", { path: "file", value: 1, ifMatch: etag })).toMatchObject({ appended: 2 });
      expect(await ground.run("read", { path: "file" })).toMatchObject({ content: "\ufeffé\nende\n1" });
    }
  });

  test("has the limit of its bytes", async () => {
    ground.put("file", utf16le("é"));
    expect(await ground.fail("append", { path: "file", content: "1234567" })).toMatchObject({ code: "TOO_LARGE" });
    expect(ground.get("file")).toEqual(utf16le("é"));
  });

  test("is refused if the file ends inside a character; bytes are not", async () => {
    ground.put("file", utf16le("é").subarray(0, 3));
    expect(await ground.fail("append", { path: "file", content: "x" })).toMatchObject({
      code: "NOT_TEXT",
      message: "File is not valid utf-16le text. Pass its encoding, or add bytes (base64)",
    });
    expect(await ground.run("append", { path: "file", bytes: "AA==" })).toMatchObject({ appended: 1, size: 4 });
    expect(ground.get("file")).toEqual(utf16le("é"));
  });

  test("tells a caller that may not read nothing of what the file holds", async () => {
    const answers = [];
    for (const before of [utf16le("é"), utf16le("é").subarray(0, 3), Buffer.from("text"), Buffer.from("abc")]) {
      ground.put("file", before);
      const answer = await ground.run("append", { path: "file", content: "ende\n" }, writer);
      answers.push({ ...answer, size: answer.size - before.length });
    }
    expect(new Set(answers.map((one) => JSON.stringify(one)))).toEqual(
      new Set([JSON.stringify({ appended: 5, created: false, size: 5 })]),
    );
  });
});

describe("text that is added to a file with a byte order mark on a drive", () => {
  const bed = useBed({ kind: "drive" });

  test("goes on in its encoding", async () => {
    const call = (name: string, input: object) =>
      bed.adapter.invoke(`file:${name}`, { root: "r", path: "file", ...input }, bed.context);
    await call("write", { bytes: utf16be("é\n").toString("base64") });
    expect(await call("append", { content: "e\n" })).toMatchObject({ appended: 4, size: 10 });
    expect(await call("append", { content: "e\n", expectedSize: 6 })).toMatchObject({ alreadyApplied: true });
    expect(await call("read", {})).toMatchObject({ content: "\ufeffé\ne\n", encoding: "utf-16be" });
  });
});

describe("text for a file in another encoding", () => {
  const ground = useGround({ limits: { maxWriteBytes: 4_000_000 } });
  const windows = Buffer.from("na\xefve \x80 1\n", "latin1");
  const refused = (encoding: string) =>
    failure("NOT_TEXT", `File is not valid UTF-8 text. Pass its encoding, such as ${encoding}`, "file", {
      next: { option: "encoding" },
    });

  test("is not put behind it in UTF-8, and is in the encoding that is named", async () => {
    ground.put("file", windows);
    expect(await ground.fail("append", { path: "file", content: "é\n" })).toEqual(refused("latin1"));
    expect(await ground.fail("append", { path: "file", value: "é" })).toEqual(refused("latin1"));
    await ground.run("append", { path: "file", content: "é €\n", encoding: "windows-1252" });
    await ground.run("append", { path: "file", content: "ascii\n" });
    expect(ground.get("file")).toEqual(Buffer.concat([windows, Buffer.from("\xe9 \x80\nascii\n", "latin1")]));
    expect(await ground.fail("append", { path: "file", content: "日", encoding: "latin1" })).toEqual(noWay("latin1"));
    expect(await ground.fail("append", { path: "file", content: "x", encoding: "nothing" })).toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  test("is not put behind UTF-16 without a mark, and is where that is named", async () => {
    for (const encoding of ["utf-16le", "utf-16be"] as const) {
      const encode = (text: string) => (encoding === "utf-16le" ? utf16le(text) : utf16be(text)).subarray(2);
      ground.put("file", encode("log\n"));
      expect(await ground.fail("append", { path: "file", content: "x" })).toEqual(refused("utf-16le"));
      await ground.run("append", { path: "file", content: "x é", encoding });
      expect(ground.get("file")).toEqual(encode("log\nx é"));
    }
  });

  test("goes behind UTF-8 of any length, also where some of it is damaged", async () => {
    const wide = Buffer.from("日本語\n".repeat(120_000));
    for (const before of [wide, Buffer.concat([Buffer.of(0xff), wide]), wide.subarray(0, -2), Buffer.alloc(0)]) {
      ground.put("file", before);
      await ground.run("append", { path: "file", content: "é" });
      expect(ground.get("file")).toEqual(Buffer.concat([before, Buffer.from("é")]));
    }
    ground.put("file", Buffer.concat([Buffer.from("x".repeat(2_000_000)), Buffer.of(0xe9)]));
    expect(await ground.fail("append", { path: "file", content: "é" })).toEqual(refused("latin1"));
  });

  test("that takes its place says so", async () => {
    const hint = (was: string) => `The file was ${was} and is utf-8 now. Pass encoding to keep it`;
    ground.put("file", windows);
    const other = await ground.run("write", { path: "file", content: "naïve 2\n" });
    expect(other).toMatchObject({ written: 9, hint: hint("in another encoding (latin1?)") });
    for (const encode of [utf16le, utf16be]) {
      ground.put("file", encode("a"));
      const name = encode === utf16le ? "utf-16le" : "utf-16be";
      expect((await ground.run("write", { path: "file", value: ["b"] })).hint).toBe(hint(name));
    }
  });

  test("says nothing where nothing of the kind happens", async () => {
    const told = async (before: Buffer | undefined, input: object, context?: object) => {
      if (before !== undefined) ground.put("file", before);
      const { hint } = await ground.run("write", { path: "file", content: "é", ...input }, context);
      return hint;
    };
    expect(await told(undefined, {})).toBeUndefined();
    expect(await told(Buffer.from("é"), {})).toBeUndefined();
    expect(await told(Buffer.from("e"), {})).toBeUndefined();
    expect(await told(windows, { content: "e" })).toBeUndefined();
    expect(await told(windows, { encoding: "windows-1252", content: "€" })).toBeUndefined();
    expect(bytesOf()).toBe("80");
    expect(await told(Buffer.of(0, 0xff, 0x80), {})).toBeUndefined();
    expect(await told(windows, { content: undefined, bytes: "w6k=" })).toBeUndefined();
    expect(await told(windows, {}, writer)).toBeUndefined();
  });

  const bytesOf = (): string => hex(ground.get("file"));
});

const links = useGround();
test("what a link leads to is told of to those alone who may read it there", async () => {
  const caps = [
    { with: "file://r/", can: "crud/write" },
    { with: "file://r/open/", can: "crud/read" },
  ];
  for (const name of ["write", "append"] as const) {
    links.put("secret/f", Buffer.from("caf\xe9\n", "latin1"));
    links.put("open/keep", "");
    symlinkSync("../secret/f", join(links.dir, `open/${name}`));
    const input = { path: `open/${name}`, content: "é\n" };
    expect(Object.keys(await links.run(name, input, { caps }))).not.toContain("hint");
    expect(links.get("secret/f").toString().endsWith("é\n")).toBe(true);
  }
});
