import { truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { compressedPdf, doublingPdf, encryptedPdf, pdfWith } from "../../pdf/make-pdf.js";
import { etagOfContent } from "../content/etags.js";
import { useGround } from "../ground.js";

const ground = useGround();
const BUDGET = { defaultBytes: 65_536, defaultLines: 2000, maxBytes: 1_048_576 };
const FOR_MODELS = { budget: BUDGET };

const SHOWN = `rendered; the text of a PDF of 3 pages; its bytes: mode "bytes"

[page 1]
First line
second line

[page 2]

[page 3]
Third
`;

describe("a PDF", () => {
  const pdf = compressedPdf("First line\nsecond line", "", "Third");

  test("comes to a model as text by page, whatever its name, with the etag of the file", async () => {
    const etag = etagOfContent(pdf);
    for (const path of ["a.pdf", "scan"]) {
      ground.put(path, pdf);
      const rendered = { rendered: "pdf", encoding: "utf-8", size: pdf.length, mime: "application/pdf", etag };
      expect(await ground.run("read", { path }, FOR_MODELS)).toEqual({ content: SHOWN, ...rendered });
    }
    const rendering = await ground.render("read", { path: "a.pdf" }, FOR_MODELS);
    expect(rendering).toMatchObject({ kind: "text", text: SHOWN, note: `etag ${etag}` });
    const many = await ground.run("readMany", { files: [{ path: "a.pdf" }] }, FOR_MODELS);
    expect(many.files).toMatchObject([{ ok: true, content: SHOWN, rendered: "pdf" }]);
  });

  test("comes as it is with a mode or a range, and elsewhere than to a model", async () => {
    ground.put("a.pdf", pdf);
    const whole = pdf.toString("base64");
    expect((await ground.run("read", { path: "a.pdf" })).content).toBe(whole);
    expect((await ground.run("read", { path: "a.pdf", mode: "bytes" }, FOR_MODELS)).content).toBe(whole);
    const piece = await ground.run("read", { path: "a.pdf", offset: 0, length: 12 }, FOR_MODELS);
    expect(piece.content).toBe(pdf.toString("base64", 0, 12));
    expect(await ground.fail("read", { path: "a.pdf", mode: "text" }, FOR_MODELS)).toMatchObject({ code: "NOT_TEXT" });
  });

  test("is cut to the budget", async () => {
    ground.put("a.pdf", pdf);
    const small = { budget: { ...BUDGET, defaultBytes: 90 } };
    const read = await ground.run("read", { path: "a.pdf" }, small);
    expect(read).toMatchObject({ content: SHOWN.slice(0, 85), complete: false, truncated: true, reason: "bytes" });
    expect((await ground.render("read", { path: "a.pdf" }, small)).note).toMatch(/^Cut\. Pass maxBytes: 360\. etag /);
    expect((await ground.run("read", { path: "a.pdf", maxBytes: 360 }, small)).content).toBe(SHOWN);
    // No hint names a call that would change nothing.
    const most = { budget: { ...BUDGET, defaultBytes: 90, maxBytes: 90 } };
    expect((await ground.run("read", { path: "a.pdf" }, most)).hint).toBe("No call shows more of it");
  });

  test.each([
    ["encrypted", encryptedPdf()],
    ["cut short", pdf.subarray(0, 300)],
    ["without any text", pdfWith("", "")],
  ])("is described where it is %s", async (_, bytes) => {
    ground.put("a.pdf", bytes);
    const read = await ground.run("read", { path: "a.pdf" }, FOR_MODELS);
    expect(read).not.toHaveProperty("content");
    expect(read).toMatchObject({ mime: "application/pdf", size: bytes.length, etag: etagOfContent(bytes) });
    expect(read.description).toMatch(/^No text: application\/pdf/);
  });

  test("is described above 32 MB", async () => {
    ground.put("a.pdf", pdf);
    truncateSync(join(ground.dir, "a.pdf"), 33_554_433);
    const read = await ground.run("read", { path: "a.pdf" }, FOR_MODELS);
    expect(read.description).toMatch(/^No text: application\/pdf, 33554433 bytes/);
  });

  test("that is text and cannot be read is that text", async () => {
    ground.put("a.txt", "%PDF- is how they begin\n");
    expect(await ground.run("read", { path: "a.txt" }, FOR_MODELS)).toMatchObject({
      content: "%PDF- is how they begin\n",
    });
  });

  test("is read no longer than its caller waits", async () => {
    ground.put("a.pdf", doublingPdf(60));
    const cancel = new AbortController();
    const failed = ground.fail("read", { path: "a.pdf" }, { ...FOR_MODELS, signal: cancel.signal });
    setImmediate(() => cancel.abort());
    expect(await failed).toMatchObject({ code: "ABORTED" });
    expect(ground.internal).toEqual([]);
  });
});

describe("an endless PDF", () => {
  const hurried = useGround({ limits: { timeoutMs: 3_000 } });

  test("is described within the time of its call", async () => {
    hurried.put("a.pdf", doublingPdf(60));
    const read = await hurried.run("read", { path: "a.pdf" }, FOR_MODELS);
    expect(read.description).toMatch(/^No text: application\/pdf/);
  });
});
