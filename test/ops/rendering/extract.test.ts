import { readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { encryptedPdf, pdfWith } from "../../documents/make-pdf.js";
import { processorMs } from "../../until.js";
import { useGround } from "../ground.js";

const ground = useGround();
const file = (name: string): Buffer => readFileSync(new URL(`../../documents/files/${name}`, import.meta.url));

const PAGES = pdfWith(...Array.from({ length: 9 }, (_, index) => `Page ${index + 1} text`));
const extract = (path: string, more: object = {}) => ground.run("read", { path, mode: "extract", ...more });

describe("pages", () => {
  test.each([
    [3, 3, 3],
    ["3", 3, 3],
    ["3-5", 3, 5],
    ["8-", 8, 9],
    [{ first: 2, last: 3 }, 2, 3],
    [{ last: 2 }, 1, 2],
    ["7-400", 7, 9],
    [40, 9, 9],
  ])("%j", async (pages, firstPage, lastPage) => {
    ground.put("a.pdf", PAGES);
    const found = await extract("a.pdf", { pages });
    expect(found).toMatchObject({ pages: 9, firstPage, lastPage, truncated: false });
    const numbers = [...(found.text ?? "").matchAll(/^--- page (\d+) ---\nPage \1 text$/gm)].map(([, one]) =>
      Number(one),
    );
    expect(numbers).toEqual(Array.from({ length: lastPage - firstPage + 1 }, (_, index) => firstPage + index));
  });

  test.each([[0], [-1], ["0"], ["5-3"], ["x"], ["-3"], [""], [{ first: 0 }], [{ first: 3, last: 2 }]])(
    "that are none are refused: %j",
    async (pages) => {
      ground.put("a.pdf", PAGES);
      const failed = await ground.fail("read", { path: "a.pdf", mode: "extract", pages });
      expect(failed).toMatchObject({ code: "INVALID_INPUT", data: { pointer: "/pages" } });
    },
  );

  test("that are mostly spaces are refused at once", async () => {
    const ms = await processorMs(async () => {
      for (const pages of [`1${" ".repeat(200_000)}x`, `1 -${" ".repeat(200_000)}x`]) {
        const failed = await ground.fail("read", { path: "a", mode: "extract", pages });
        expect(failed).toMatchObject({ code: "INVALID_INPUT" });
      }
    });
    expect(ms).toBeLessThan(5_000);
    ground.put("a.pdf", PAGES);
    expect(await extract("a.pdf", { pages: " 3 - 4 " })).toMatchObject({ firstPage: 3, lastPage: 4 });
  });

  test("are for mode extract, as maxChars is, which takes no range", async () => {
    for (const [field, value] of [
      ["pages", 1],
      ["maxChars", 10],
    ] as const) {
      expect(await ground.fail("read", { path: "a", [field]: value })).toMatchObject({
        data: { pointer: `/${field}` },
      });
    }
    expect(await ground.fail("read", { path: "a", mode: "extract", line: 1 })).toMatchObject({ code: "INVALID_INPUT" });
  });

  test("of a document without any are told to change nothing", async () => {
    ground.put("a.docx", file("python-docx.docx"));
    const whole = await extract("a.docx");
    const some = await extract("a.docx", { pages: "2-3" });
    expect(some).toMatchObject({ text: whole.text, meta: { note: "A docx file has no pages to choose" } });
  });
});

describe("maxChars", () => {
  test("cuts, tells the page that the cut fell into, and how to go on", async () => {
    ground.put("a.pdf", PAGES);
    const whole = await extract("a.pdf");
    for (const maxChars of [1, 20, 29, 60, 100]) {
      const cut = await extract("a.pdf", { maxChars });
      expect(cut).toMatchObject({
        text: whole.text?.slice(0, maxChars),
        chars: maxChars,
        truncated: true,
        firstPage: 1,
      });
      expect(cut.meta).toEqual(whole.meta);
      expect(cut.lastPage).toBe(1 + Math.floor((maxChars - 1) / 28));
      const hint = cut.lastPage === 1 ? `Pass maxChars: ${4 * maxChars}` : `Go on with pages: "${cut.lastPage}-"`;
      expect(cut.hint).toBe(hint);
    }
    expect(await extract("a.pdf", { maxChars: whole.chars })).toMatchObject({ text: whole.text, truncated: false });
    expect(await extract("a.pdf", { maxChars: 0 })).toEqual(whole);
    expect(await extract("a.pdf", { maxChars: 10 ** 12 })).toEqual(whole);
  });

  test("splits no character, and is 16,000 where nothing is said", async () => {
    ground.put("a.txt", "🚀".repeat(20_000));
    expect(await extract("a.txt", { maxChars: 3 })).toMatchObject({ text: "🚀", chars: 2, truncated: true });
    expect(await extract("a.txt")).toMatchObject({ chars: 16_000, truncated: true, hint: "Pass maxChars: 64000" });
  });
});

describe("a document", () => {
  const FAULTS: readonly (readonly [string, string, Buffer])[] = [
    ["encrypted", "a.pdf", encryptedPdf()],
    ["damaged", "a.pdf", PAGES.subarray(0, 200)],
    ["damaged", "a.docx", file("python-docx.docx").subarray(0, 5000)],
    ["damaged", "a.docx", Buffer.from("no zip")],
    ["damaged", "a.xlsx", file("python-docx.docx")],
    ["damaged", "a.ipynb", Buffer.from('{ "cells": [')],
    [
      "encrypted",
      "a.docx",
      Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.from("EncryptedPackage", "utf16le")]),
    ],
    ["unsupported", "a.doc", Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(600)])],
    ["unsupported", "a.rtf", Buffer.from("{\\rtf1 x}")],
    ["unsupported", "a.bin", Buffer.from([0, 1, 2, 3, 0xff])],
  ];
  test.each(FAULTS)("that is %s says so: %s", async (reason, path, bytes) => {
    ground.put(path, bytes);
    const failed = await ground.fail("read", { path, mode: "extract" });
    expect(failed).toMatchObject({ code: "BAD_FORMAT", data: { reason, path } });
    if (reason === "unsupported") expect(failed.message).toMatch(/Supported: pdf, docx, .*text$/);
  });

  test("over 32 MB is too large; text is not", async () => {
    ground.put("a.pdf", PAGES);
    truncateSync(join(ground.dir, "a.pdf"), 33_554_433);
    expect(await ground.fail("read", { path: "a.pdf", mode: "extract" })).toMatchObject({ code: "TOO_LARGE" });
    ground.put("a.txt", "word ".repeat(8_000_000));
    expect(await extract("a.txt", { maxChars: 9 })).toMatchObject({ text: "word word", truncated: true });
  });

  test("of pictures says so", async () => {
    ground.put("a.pdf", pdfWith("", ""));
    expect(await extract("a.pdf")).toMatchObject({
      pages: 2,
      meta: { scanned: true, note: expect.any(String) },
    });
  });

  test("comes to models as text where they name no mode, and as one block beside its facts where they extract", async () => {
    const models = { budget: { defaultBytes: 65_536, defaultLines: 2000, maxBytes: 1_048_576 } };
    ground.put("a.docx", file("python-docx.docx"));
    const shown = await ground.run("read", { path: "a.docx" }, models);
    expect(shown).toMatchObject({
      rendered: "docx",
      content: expect.stringMatching(/^rendered; the text of a Word document; its bytes.*\n\nReport\n/),
    });
    const { text, ...facts } = await extract("a.docx");
    const {
      kind,
      text: body,
      note = "",
    } = (await ground.render("read", { path: "a.docx", mode: "extract" }, models)) as never as Record<string, string>;
    expect({ kind, body, facts: JSON.parse(note) }).toEqual({ kind: "text", body: text, facts });
    expect((await ground.run("read", { path: "a.docx" })).encoding).toBe("base64");
  });

  test("is read by who may read the file, and by nobody else", async () => {
    ground.put("a.docx", file("python-docx.docx"));
    const caps = [{ with: "file://r/b/", can: "crud/read" }];
    expect(await ground.fail("read", { path: "a.docx", mode: "extract" }, { caps })).toMatchObject({
      code: "CAPABILITY_DENIED",
    });
    expect(await ground.fail("read", { path: "b/a.docx", mode: "extract" }, { caps })).toMatchObject({
      code: "NOT_FOUND",
    });
  });
});
