import { describe, expect, test } from "@jest/globals";
import iconv from "iconv-lite";
import { useGround } from "../ground.js";

const patchOf = (...lines: readonly string[]): string => ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");
const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");

describe("file:patch on files that are not UTF-8", () => {
  const ground = useGround();
  const update = (lines: readonly string[], more: object = {}) =>
    ground.run("patch", { patch: patchOf("*** Update File: f", ...lines), ...more });
  const fail = (lines: readonly string[], more: object = {}) =>
    ground.fail("patch", { patch: patchOf("*** Update File: f", ...lines), ...more });

  test("keeps bytes that are no UTF-8, in lines that it shows and in others", async () => {
    ground.put("f", latin1("caf\xe9\nold\n\xff\xfe\x80\nna\xefve\n"));
    await update(["@@", " caf\ufffd", "-old", "+new"]);
    expect(ground.get("f")).toEqual(latin1("caf\xe9\nnew\n\xff\xfe\x80\nna\xefve\n"));
    const diff = "--- a/f\n+++ b/f\n@@ -3,2 +3,2 @@\n-\ufffd\ufffd\ufffd\n+gone\n na\ufffdve\n";
    await ground.run("patch", { patch: diff });
    expect(ground.get("f")).toEqual(latin1("caf\xe9\nnew\ngone\nna\xefve\n"));
  });

  test("takes a few bad bytes among UTF-8, and writes UTF-8 beside them", async () => {
    ground.put("f", Buffer.concat([Buffer.from("é ü\n"), latin1("\xe2\x82 cut\n"), Buffer.from("x\n")]));
    await update(["@@", " \ufffd cut", "-x", "+ö"]);
    expect(ground.get("f")).toEqual(
      Buffer.concat([Buffer.from("é ü\n"), latin1("\xe2\x82 cut\n"), Buffer.from("ö\n")]),
    );
  });

  test("does not guess what bytes new text has", async () => {
    ground.put("f", latin1("caf\xe9\nold\n"));
    expect(await fail(["@@", "-old", "+th\xe9"])).toMatchObject({
      code: "NOT_TEXT",
      message: expect.stringMatching(/encoding/),
    });
    expect(await fail(["@@", "-caf\ufffd", "+CAF\ufffd"])).toMatchObject({
      code: "NOT_TEXT",
      message: expect.stringMatching(/encoding/),
    });
    expect(ground.get("f")).toEqual(latin1("caf\xe9\nold\n"));
  });

  test.each<[name: string, encoding: string]>([
    ["Latin-1", "latin1"],
    ["Shift_JIS", "shift_jis"],
    ["Windows-1251", "windows-1251"],
  ])("works in %s where the call names it", async (_, encoding) => {
    const texts = {
      latin1: ["Stra\xdfe", "Gr\xfc\xdfe"],
      shift_jis: ["表示", "能力"],
      "windows-1251": ["Москва", "Река"],
    };
    const [old = "", now = ""] = texts[encoding as keyof typeof texts];
    ground.put("f", iconv.encode(`${old}\r\nkeep\r\n`, encoding));
    ground.put("u", "grüß\n");
    const second = ["*** Update File: u", "@@", "-grüß", "+Grüße", "*** Add File: n", "+plain"];
    await update(["@@", `-${old}`, `+${now}`, " keep", ...second], { encoding });
    expect(ground.get("f")).toEqual(iconv.encode(`${now}\r\nkeep\r\n`, encoding));
    expect([ground.get("u").toString(), ground.get("n").toString()]).toEqual(["Grüße\n", "plain\n"]);
  });

  test("works in UTF-16 with its mark", async () => {
    ground.put("f", utf16("ein\r\nzwei\r\n"));
    await update(["@@", " ein", "-zwei", "+zwölf", "+drei"]);
    expect(ground.get("f")).toEqual(utf16("ein\r\nzwölf\r\ndrei\r\n"));
  });

  test("refuses a name that is none", async () => {
    ground.put("f", "x\n");
    expect(await fail(["@@", "-x", "+y"], { encoding: "klingon" })).toMatchObject({ code: "INVALID_INPUT" });
  });

  test("shows bytes that are no text as what stands for them", async () => {
    ground.put("f", latin1("\xe9\nold\n"));
    const { diff } = await update(["@@", "-old", "+new"]);
    expect([diff?.isWellFormed(), diff?.includes("\ufffd")]).toEqual([true, true]);
    expect(await fail(["@@", "-\ufffd old", "+x"])).toMatchObject({ code: "NO_MATCH" });
  });
});
