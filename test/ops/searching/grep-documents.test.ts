import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { pdfWith } from "../../documents/make-pdf.js";
import { useGround } from "../ground.js";

const ground = useGround();
const file = (name: string): Buffer => readFileSync(new URL(`../../documents/files/${name}`, import.meta.url));

describe("grep in documents", () => {
  test("finds lines in pages, slides and sheets, between those of other files", async () => {
    ground.put("a.txt", "x\nZürich\n");
    ground.put("b.docx", file("python-docx.docx"));
    ground.put("c.pptx", file("python-pptx.pptx"));
    ground.put("d.xlsx", file("openpyxl.xlsx"));
    ground.put("e.pdf", pdfWith("one", "two\nZurich", "Zurich"));
    ground.put("f.md", "Zürich");
    ground.put("g.docx", "no document");
    const found = await ground.run("grep", { pattern: "Z(ü|u)rich", documents: true });
    expect(found.matches).toEqual([
      { path: "a.txt", line: 2, text: "Zürich" },
      { path: "b.docx", line: 2, text: "Sales rose by 12 % in Zürich 🚀." },
      { path: "c.pptx", slide: 2, line: 2, text: "Zürich 🚀" },
      { path: "d.xlsx", sheet: "Data", line: 2, text: "Zürich 🚀\t2024-05-01T13:30:00\tTRUE\t0.5" },
      { path: "e.pdf", page: 2, line: 2, text: "Zurich" },
      { path: "e.pdf", page: 3, line: 1, text: "Zurich" },
      { path: "f.md", line: 1, text: "Zürich" },
    ]);
    expect(found).toMatchObject({ complete: true, filesScanned: 6, hidden: { unreadable: 1 } });
    const { text } = (await ground.render("grep", { pattern: "Zurich", documents: true })) as { text: string };
    expect(text).toBe("e.pdf\n--- page 2 ---\n2:Zurich\n--- page 3 ---\n1:Zurich\n");
    expect((await ground.run("grep", { pattern: "Zürich" })).matches).toHaveLength(2);
    const counts = await ground.run("grep", { pattern: "Zurich", documents: true, output: "count" });
    expect(counts.counts).toEqual([{ path: "e.pdf", count: 2 }]);
    const named = await ground.run("grep", { path: "e.pdf", pattern: "Zurich", documents: true });
    expect(named.matches).toHaveLength(2);
  });

  test("goes on in a document by the cursor", async () => {
    ground.put("e.pdf", pdfWith("hit\nhit", "x\nhit", "hit"));
    const pages: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = await ground.run("grep", { pattern: "hit", documents: true, limit: 1, ...(cursor && { cursor }) });
      pages.push(...(page.matches ?? []).map(({ page, line }) => [page, line]));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(pages).toEqual([
      [1, 1],
      [1, 2],
      [2, 2],
      [3, 1],
    ]);
  });

  test("reads 200 at most, and goes on by the cursor", async () => {
    for (let count = 0; count < 203; count++) ground.put(`${1000 + count}.docx`, "none");
    const first = await ground.run("grep", { pattern: "x", documents: true });
    expect(first).toMatchObject({ complete: false, reason: "limit", hidden: { unreadable: 200 } });
    const second = await ground.run("grep", { pattern: "x", documents: true, cursor: first.nextCursor ?? "" });
    expect(second).toMatchObject({ complete: true, hidden: { unreadable: 3 } });
  });

  test("searches web pages by their text, and one that cannot be read as it is", async () => {
    ground.put("a.html", "<p>one <b>word</b> &amp; more</p>");
    ground.put("b.ipynb", "broken one word & more");
    const found = await ground.run("grep", { pattern: "one word & more", documents: true });
    expect(found.matches?.map(({ path }) => path)).toEqual(["a.html", "b.ipynb"]);
  });
});
