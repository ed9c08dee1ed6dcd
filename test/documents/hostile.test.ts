import { spawnSync } from "node:child_process";
import { afterAll, describe, expect, test } from "@jest/globals";
import { DocumentProcesses } from "../../src/documents/document-processes.js";
import { kindOfHead } from "../../src/documents/kinds.js";
import { processorMs } from "../until.js";
import { DOCUMENTS, damaged, documentOf, readBytes, zipOf } from "./hostile.js";

/** More by hand: 200 take minutes. */
const MUTATIONS = Number(process.env["VENUE_FILES_MUTATIONS"] ?? 20);

const reader = new DocumentProcesses();
afterAll(() => reader.close());

async function read(bytes: Buffer, kind: Parameters<typeof readBytes>[2] = "docx", withinMs?: number) {
  const session = reader.open({});
  try {
    return await readBytes(session, bytes, kind, withinMs);
  } finally {
    session.close();
  }
}

const docx = (body: string, before = ""): Promise<Buffer> =>
  zipOf({ "word/document.xml": `${before}<w:document xmlns:w="w"><w:body>${body}</w:body></w:document>` });
const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

describe("a hostile document", () => {
  test.each(DOCUMENTS)(
    "cut at every sixteenth or changed ends as text or a fault: %s",
    async (name) => {
      const session = reader.open({});
      expect(await damaged(session, name, MUTATIONS)).toEqual([]);
      session.close();
    },
    240_000 + MUTATIONS * 2_000,
  );

  test("that unpacks to gigabytes ends within its bounds, with what came before", async () => {
    const bomb = Buffer.alloc(80_000_000, " ");
    expect(await read(await zipOf({ "word/document.xml": bomb }))).toEqual({ fault: "spent" });
    const late = Buffer.concat([
      Buffer.from(`<w:document>${paragraph("first")}<w:p><w:r><w:t>`),
      Buffer.alloc(80_000_000, "x"),
    ]);
    const found = await read(await zipOf({ "word/document.xml": late }));
    expect(found).toMatchObject({
      ends: expect.stringMatching(/^(spent|enough)$/),
      parts: [{ text: expect.stringMatching(/^first/) }],
    });
    const attributes = Buffer.concat([Buffer.from("<w:document a='"), Buffer.alloc(80_000_000, "x")]);
    expect(await read(await zipOf({ "word/document.xml": attributes }))).toEqual({ fault: "spent" });
  });

  test.each([
    ["entities", () => docx(paragraph("&a;"), '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>')],
    ["an entity of a file", () => docx(paragraph("&a;"), '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>')],
    ["a document type", () => docx(paragraph("x"), "<!DOCTYPE x>")],
    ["an entity of no name", () => docx(paragraph("&nothing;"))],
    ["no end", () => zipOf({ "word/document.xml": "<w:document><w:body>" })],
    ["no part", () => zipOf({ "other.xml": "<a/>" })],
    ["bytes that are no UTF-8", () => zipOf({ "word/document.xml": Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0xfe]) })],
  ])("with %s is damaged", async (_, make) => {
    expect(await read(await make())).toEqual({ fault: "damaged" });
  });

  test("has no further text below 512 levels", async () => {
    const deep = (levels: number) =>
      docx(`${paragraph("first")}${"<w:x>".repeat(levels)}${paragraph("deep")}${"</w:x>".repeat(levels)}`);
    expect(await read(await deep(400))).toMatchObject({ parts: [{ text: "first\ndeep" }] });
    expect(await read(await deep(600))).toMatchObject({ parts: [{ text: "first" }], ends: "spent" });
  });

  test("of more than 10,000 entries is not read", async () => {
    const parts = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`${index}`, ""]));
    expect(await read(await zipOf(parts))).toEqual({ fault: "spent" });
  });

  test("with a part that is not as its sum says is damaged, although its text could be read", async () => {
    const bytes = await zipOf({ "word/document.xml": `<d>${paragraph("A".repeat(40))}</d>` });
    const at = bytes.lastIndexOf(Buffer.from("504b0102", "hex"));
    bytes.writeUInt32LE((bytes.readUInt32LE(at + 16) + 1) >>> 0, at + 16);
    expect(await read(bytes)).toEqual({ fault: "damaged" });
  });

  test("is cut within a line or a name that has no end, and in the list of its sheets", async () => {
    const long = "x".repeat(4_000_000);
    const note = `{"nbformat":4,"cells":[{"cell_type":"raw","source":"${long}"}]}`;
    for (const [kind, bytes] of [
      ["docx", await docx(paragraph(long))],
      ["html", Buffer.from(`<pre>${long}</pre>`)],
      ["ipynb", Buffer.from(note)],
    ] as const) {
      const found = await read(bytes, kind);
      expect(found).toMatchObject({ ends: "enough", parts: [{ text: expect.any(String) }] });
      // A pattern of so many would be tried from each character.
      expect("parts" in found && found.parts[0]?.text.endsWith("x".repeat(90_000))).toBe(true);
      expect(JSON.stringify(found).length).toBeLessThan(101_000);
    }
    const sheets = (count: number, name: string) =>
      zipOf({
        "xl/workbook.xml": `<workbook>${`<sheet name="${name}" r:id="r"/>`.repeat(count)}</workbook>`,
        "xl/_rels/workbook.xml.rels": '<R><Relationship Id="r" Type="x/worksheet" Target="s.xml"/></R>',
        "xl/s.xml": "<s><row><c><v>1</v></c></row></s>",
      });
    for (const workbook of [await sheets(1, "n".repeat(500_000)), await sheets(2_000, "n".repeat(60))]) {
      const found = await read(workbook, "xlsx");
      expect(found).toMatchObject({ kind: "xlsx", parts: expect.arrayContaining([expect.anything()]) });
      expect(JSON.stringify("meta" in found && found.meta).length).toBeLessThan(20_000);
    }
  });

  test("with names that every object has is read as with others", async () => {
    const named = await zipOf({
      "_rels/.rels": '<R><Relationship Id="a" Type="x/core-properties" Target="p.xml"/></R>',
      "p.xml": `<p><constructor>${"x".repeat(200_000)}</constructor><__proto__>x</__proto__><title>T</title></p>`,
      "word/document.xml": `<d>${paragraph("text")}</d>`,
    });
    expect(await read(named)).toEqual({ kind: "docx", meta: { title: "T" }, parts: [{ text: "text" }] });
    const cell = '<t:table-cell o:value-type="constructor"><t:p>x</t:p></t:table-cell>';
    const ods = await zipOf({
      "content.xml": `<a><t:table t:name="T"><t:table-row>${cell}</t:table-row></t:table></a>`,
    });
    expect(await read(ods, "ods")).toMatchObject({ parts: [{ text: "x" }] });
  });

  test("that takes all the time keeps what came before, however short", async () => {
    const endless =
      '<t:table-row t:number-rows-repeated="1e300"><t:table-cell t:number-columns-repeated="9999"><t:p>&#127;</t:p></t:table-cell></t:table-row>';
    const first = "<t:table-row><t:table-cell><t:p>first</t:p></t:table-cell></t:table-row>";
    const ods = await zipOf({ "content.xml": `<a><t:table t:name="T">${first}${endless}</t:table></a>` });
    expect(await read(ods, "ods", 4_000)).toMatchObject({ ends: "spent", parts: [{ text: "first" }] });
  });

  test.each([["<!---->"], ["\ufeff"], ["<!--"], ["-->"], [" <!-- --> "]])(
    "of many %j is told from others at once",
    async (begin) => {
      const ms = await processorMs(() => expect(kindOfHead(Buffer.from(`${begin.repeat(1024)}x`))).toBeUndefined());
      expect(ms).toBeLessThan(2_000);
      expect(kindOfHead(Buffer.from("\ufeff<!-- <x> -->\n<!----><!DOCTYPE html>"))).toBe("html");
      expect(kindOfHead(Buffer.from('\ufeff<?xml version="1.0"?>\n<!-- x --><html>'))).toBe("xhtml");
    },
  );

  test("repeats no cell without end", async () => {
    const row =
      '<table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16000"><text:p>x</text:p></table:table-cell></table:table-row>';
    const far =
      '<table:table-row><table:table-cell table:number-columns-repeated="900000000"/><table:table-cell><text:p>y</text:p></table:table-cell></table:table-row>';
    const ods = await zipOf({ "content.xml": `<a><table:table table:name="T">${far}${row}</table:table></a>` });
    expect(await read(ods, "ods")).toMatchObject({ ends: "enough", parts: [{ unit: { is: "sheet", at: "T" } }] });
    const odt = await zipOf({ "content.xml": '<a><text:p>x<text:s text:c="2000000000"/>y</text:p></a>' });
    expect(await read(odt, "odt")).toMatchObject({ parts: [{ text: expect.stringMatching(/^x {256}y$/) }] });
  });

  test("of web pages that are deep, or one tag, ends", async () => {
    for (const page of [
      "<div>".repeat(50_000),
      `<a ${"x ".repeat(1_000_000)}`,
      "<!--".repeat(100_000),
      "&".repeat(500_000),
    ]) {
      expect(await read(Buffer.from(page), "html")).not.toHaveProperty("peer");
    }
  });
});

test("fifty documents are read by one process in at most three seconds of its time, and none is left", async () => {
  const session = reader.open({});
  const bytes = documentOf("python-docx.docx");
  for (let count = 0; count < 50; count++) expect(await readBytes(session, bytes, "docx")).toHaveProperty("parts");
  const children = (): string[] =>
    spawnSync("ps", ["-o", "cputimes=,args=", "--ppid", String(process.pid)], { encoding: "utf8" })
      .stdout.split("\n")
      .filter((line) => line.includes("documents-process"));
  const [used] = children().map((line) => Number.parseInt(line, 10));
  expect(used).toBeLessThanOrEqual(3);
  session.close();
  await reader.close();
  expect(children()).toEqual([]);
});
