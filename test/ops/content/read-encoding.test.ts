import { describe, expect, test } from "@jest/globals";
import { failure, useGround } from "../ground.js";
import { etagOfContent } from "./etags.js";

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
const MARKED = hex("fffe 6100 e900 0a00");

describe("file:read in another encoding", () => {
  const ground = useGround({ roots: { old: { temp: true, encoding: "latin1" } } });

  test("knows UTF-16 by its mark, and keeps the mark", async () => {
    ground.put("file", MARKED);
    const etag = etagOfContent(MARKED);
    expect(await ground.run("read", { path: "file" })).toEqual({
      ...{ content: "\ufeffaé\n", encoding: "utf-16le", size: 8, mime: "text/plain", etag },
    });
    expect(await ground.run("read", { path: "file", offset: 2, length: 3 })).toMatchObject({
      ...{ content: "a", encoding: "utf-16le", offset: 2, length: 2, nextOffset: 4 },
    });
    expect(await ground.run("read", { path: "file", offset: 3 })).toMatchObject({ content: "é\n", offset: 4 });
    ground.put("a.json", hex("feff 007b 007d"));
    expect(await ground.run("read", { path: "a.json", mode: "json" })).toMatchObject({ value: {} });
  });

  test("takes a name at its word", async () => {
    ground.put("file", hex("c3a9 80"));
    expect(await ground.run("read", { path: "file" })).toMatchObject({ encoding: "base64" });
    expect(await ground.run("read", { path: "file", encoding: "latin1" })).toMatchObject({ content: "Ã©\u0080" });
    expect(await ground.run("read", { path: "file", encoding: "Windows-1252" })).toMatchObject({
      ...{ content: "Ã©€", encoding: "windows-1252" },
    });
    ground.put("file", MARKED);
    expect(await ground.run("read", { path: "file", encoding: "utf-8" })).toMatchObject({ encoding: "base64" });
  });

  test("never shows what is not there", async () => {
    ground.put("file", hex("61 81"));
    const input = { path: "file", encoding: "windows-1252" };
    expect(await ground.run("read", input)).toMatchObject({ content: "YYE=", encoding: "base64" });
    expect(await ground.fail("read", { ...input, mode: "text" })).toEqual(
      failure(
        "NOT_TEXT",
        "File is not valid windows-1252 text. Pass its encoding, such as latin1, or mode: bytes",
        "file",
      ),
    );
    ground.put("file", Buffer.from(`a${"\0"}b`, "utf16le"));
    expect(await ground.run("read", { path: "file", encoding: "utf-16le" })).toMatchObject({ encoding: "base64" });
    expect(await ground.run("read", { path: "file", encoding: "utf-16le", mode: "text" })).toMatchObject({
      content: "a\0b",
    });
  });

  test("starts with a whole character, wherever a range starts", async () => {
    ground.put("file", Buffer.concat([Buffer.alloc(1000, "x "), hex("93fa 967b 93fa 0a"), Buffer.from("end")]));
    const input = { path: "file", encoding: "shift_jis" };
    expect(await ground.run("read", { ...input, offset: 1001, length: 4 })).toMatchObject({
      content: "本",
      offset: 1002,
    });
    expect(await ground.run("read", { ...input, offset: 1003, length: 1 })).toMatchObject({
      content: "日",
      offset: 1004,
    });
  });

  test("is that of its root unless another is named", async () => {
    const place = { root: "old", path: "file" };
    await ground.adapter.invoke("file:write", { ...place, bytes: "6Qo=" });
    const encodingOf = async (more: object) => {
      const { content, encoding } = await ground.adapter.invoke("file:read", { ...place, ...more });
      return [content, encoding];
    };
    expect(await encodingOf({})).toEqual(["é\n", "latin1"]);
    expect(await encodingOf({ line: 1 })).toEqual(["é\n", "latin1"]);
    expect(await encodingOf({ encoding: "utf-8" })).toEqual(["6Qo=", "base64"]);
  });
});
