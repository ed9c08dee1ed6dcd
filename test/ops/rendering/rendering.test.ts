import { truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { lookAtImage } from "../../../src/ops/rendering/image.js";
import { notebookText } from "../../../src/ops/rendering/notebook.js";
import { compressedPdf, doublingPdf, encryptedPdf, pdfWith } from "../../documents/make-pdf.js";
import { etagOfContent } from "../content/etags.js";
import { useGround } from "../ground.js";
import { gif, jpeg, png, WEBPS, webp } from "./images.js";

const ground = useGround();
const BUDGET = { defaultBytes: 65_536, defaultLines: 2000, maxBytes: 1_048_576 };
const FOR_MODELS = { budget: BUDGET };

const KINDS = { png, jpeg, gif, webp } as const;
const kinds = Object.entries(KINDS);

describe("an image", () => {
  test.each(kinds)("%s tells its sides, and nothing is wrong with it", (kind, make) => {
    const found = { mime: `image/${kind}`, width: 300, height: 20, fault: undefined };
    expect(lookAtImage(make([300, 20]))).toEqual(found);
    expect(lookAtImage(Buffer.concat([make([300, 20]), Buffer.from("behind it")]))).toEqual(found);
  });

  test.each(Object.entries(WEBPS))("WebP of the kind %s is read", (_, base64) => {
    const bytes = Buffer.from(base64, "base64");
    expect(lookAtImage(bytes)).toEqual({ mime: "image/webp", width: 1, height: 1, fault: undefined });
    expect(lookAtImage(bytes.subarray(0, -2))?.fault).toBe("damaged or cut short");
  });

  test.each(kinds)("%s that is cut short anywhere has a fault", (kind, make) => {
    const bytes = make([30, 20]);
    // The last byte of a WebP of odd length only fills it up.
    for (let length = 12; length < bytes.length - (kind === "webp" ? 1 : 0); length++) {
      const { fault } = { ...lookAtImage(bytes.subarray(0, length)) };
      expect([length, fault]).toEqual([
        length,
        expect.stringMatching(/^(damaged or cut short|its header cannot be read)$/),
      ]);
    }
  });

  test.each(kinds)("%s of no side, or of one over 8,000 px, has a fault", (kind, make) => {
    expect(lookAtImage(make([8000, 8000]))?.fault).toBeUndefined();
    for (const sides of [
      [8001, 1],
      [1, 8001],
      [16_000, 9000],
    ] as const) {
      expect(lookAtImage(make(sides))).toMatchObject({ width: sides[0], fault: "a side is over 8000 px" });
    }
    if (kind !== "webp") expect(lookAtImage(make([0, 5]))?.fault).toBe("its header cannot be read");
  });

  test("without pixels, or with another header than its first part, has a fault", () => {
    const bytes = png([4, 4]);
    const bare = Buffer.concat([bytes.subarray(0, 33), bytes.subarray(-12)]);
    expect(lookAtImage(bare)?.fault).toBe("damaged or cut short");
    const other = Buffer.from(bytes);
    other.write("CgBI", 12, "latin1");
    expect(lookAtImage(other)?.fault).toBe("its header cannot be read");
    expect(lookAtImage(Buffer.from("GIF8 is a format of images."))?.fault).toBe("its header cannot be read");
  });

  test("of more than 5 MB of base64 has a fault", () => {
    const most = 3_750_000;
    const bytes = png([4, 4]);
    const padded = (size: number) => Buffer.concat([bytes, Buffer.alloc(size - bytes.length)]);
    expect(lookAtImage(padded(most))?.fault).toBeUndefined();
    expect(lookAtImage(padded(most + 1))?.fault).toBe("too large to show");
  });
});

describe("to a model", () => {
  const shown = async (path: string, more: object = {}) => {
    const seen = await ground.render("read", { path, ...more }, FOR_MODELS);
    return seen.kind === "blob" ? seen.mime : String(seen.kind === "text" ? seen.text : "").split("\n")[0];
  };

  test.each(kinds)(
    "%s goes out as an image where nothing is wrong with it, else it is described",
    async (kind, make) => {
      const bytes = make([12, 9]);
      ground.put("good", bytes);
      ground.put("cut", bytes.subarray(0, -2));
      ground.put("wide", make([12_000, 2]));
      expect(await shown("good")).toBe(`image/${kind}`);
      const size = bytes.length - 2;
      expect(await shown("cut")).toBe(`Image, damaged or cut short: image/${kind}, 12x9 px, ${size} bytes`);
      expect(await shown("wide")).toMatch(
        new RegExp(`^Image, a side is over 8000 px: image/${kind}, 12000x2 px, \\d+ bytes`),
      );
    },
  );

  test("nothing else that is asked for as bytes goes out as an image", async () => {
    ground.put("good.png", png([12, 9]));
    ground.put("wide.png", png([12_000, 2]));
    ground.put("noise.png", Buffer.alloc(40, 0x81));
    for (const more of [{ mode: "bytes" }, { offset: 0 }, { offset: 0, length: 1000 }]) {
      expect(await shown("good.png", more)).toBe("image/png");
      expect(await shown("wide.png", more)).toBe("application/octet-stream");
      expect(await shown("noise.png", more)).toBe("application/octet-stream");
    }
    expect(await shown("good.png", { offset: 1 })).toBe("application/octet-stream");
    expect(await shown("noise.png")).toBe("Image, its header cannot be read: image/png, 40 bytes");
  });

  test("an image of several parts in memory is whole, and one among several files says what is wrong with it", async () => {
    const noise = Buffer.concat([png([12, 9]), Buffer.alloc(200_000, 1)]);
    ground.put("large", noise);
    ground.put("wide", png([12_000, 2]));
    expect(await shown("large")).toBe("image/png");
    ground.put("larger", Buffer.concat([png([12, 9]), Buffer.alloc(1_048_576, 1)]));
    expect(await shown("larger")).toMatch(/^Image, too large to show: image\/png, 12x9 px, \d+ bytes/);
    const files = [{ path: "large" }, { path: "wide" }];
    const many = await ground.run("readMany", { files }, FOR_MODELS);
    expect(many.files.map(({ description = "" }) => description.split(":")[0])).toEqual([
      "Image, shown when read alone",
      "Image, a side is over 8000 px",
    ]);
    expect((await ground.run("read", { path: "wide" })).encoding).toBe("base64");
  });
});

const NOTEBOOK = {
  nbformat: 4,
  nbformat_minor: 5,
  metadata: {},
  cells: [
    { cell_type: "markdown", metadata: {}, source: ["# Sales\n", "by year"] },
    {
      ...{ cell_type: "code", metadata: {}, execution_count: 1, source: "plot(1)\n" },
      outputs: [
        { output_type: "stream", name: "stdout", text: ["one\n", "two\n"] },
        {
          output_type: "display_data",
          data: { "text/plain": ["<Figure>"], "text/html": "<img>", "image/png": "iVBORw0KGgo=".repeat(1000) },
        },
        { output_type: "error", ename: "ValueError", evalue: "no", traceback: ["\u001b[0;31mValueError\u001b[0m: no"] },
      ],
    },
    { cell_type: "code", metadata: {}, source: [], outputs: [] },
  ],
};

describe("a notebook", () => {
  const FOR_MODELS = { budget: { defaultBytes: 65_536, defaultLines: 2000, maxBytes: 1_048_576 } };

  const SHOWN = `rendered; edit one with cell: N

[1] markdown
# Sales
by year

[2] code
plot(1)
--- output
one
two
--- output
<Figure>
[image/png not shown]
--- output
ValueError: no

[3] code
`;

  test("comes to a model as cells with their text outputs, and with the etag of the file", async () => {
    const json = JSON.stringify(NOTEBOOK, undefined, 1);
    ground.put("a.ipynb", json);
    const etag = etagOfContent(json);
    const rendered = { rendered: "notebook", encoding: "utf-8", size: Buffer.byteLength(json), etag };
    expect(await ground.run("read", { path: "a.ipynb" }, FOR_MODELS)).toMatchObject({ content: SHOWN, ...rendered });
    const { text, note } = { text: "", ...(await ground.render("read", { path: "a.ipynb" }, FOR_MODELS)) };
    expect([text, note]).toEqual([SHOWN, `etag ${etag}`]);
    const input = { path: "a.ipynb", oldText: "by year", newText: "by month", ifMatch: etag };
    expect(await ground.run("edit", input, FOR_MODELS)).toMatchObject({ applied: 1 });
  });

  test("comes as it is in mode text, with a range, or elsewhere than to a model", async () => {
    const json = JSON.stringify(NOTEBOOK);
    ground.put("a.ipynb", json);
    const read = (more: object, context = {}) => ground.run("read", { path: "a.ipynb", ...more }, context);
    expect((await read({})).content).toBe(json);
    expect((await read({ mode: "text" }, FOR_MODELS)).content).toBe(json);
    expect((await read({ line: 1 }, FOR_MODELS)).content).toBe(json);
    expect((await read({ offset: 0 }, FOR_MODELS)).content).toBe(json);
    expect((await read({ mode: "json" }, FOR_MODELS)).value).toEqual(NOTEBOOK);
  });

  test("is cut to the budget, and says how to get the rest", async () => {
    ground.put("a.ipynb", JSON.stringify(NOTEBOOK));
    const small = { budget: { ...FOR_MODELS.budget, defaultBytes: 60 } };
    const read = await ground.run("read", { path: "a.ipynb" }, small);
    expect(read).toMatchObject({ complete: false, truncated: true, reason: "bytes" });
    expect(Buffer.byteLength(read.content ?? "")).toBeLessThanOrEqual(60);
    const rendering = await ground.render("read", { path: "a.ipynb" }, small);
    expect(rendering.note).toMatch(/^Cut\. Pass maxBytes: 177\. etag /);
    expect((await ground.run("read", { path: "a.ipynb", maxBytes: 177 }, small)).content).toBe(SHOWN);
    const least = { budget: { ...small.budget, maxBytes: 176 } };
    expect((await ground.render("read", { path: "a.ipynb" }, least)).note).toMatch(
      /^Cut\. Pass mode: "text" for the rest/,
    );
  });

  test.each([
    ["JSON of something else", '{"cells":1}'],
    ["broken JSON", '{"cells":['],
    ["an old format", '{"nbformat":3,"worksheets":[]}'],
    ["nothing", ""],
  ])("is read as text where it is %s", async (_, text) => {
    ground.put("a.ipynb", text);
    const read = await ground.run("read", { path: "a.ipynb" }, FOR_MODELS);
    expect(read.content).toBe(text);
    expect(read).not.toHaveProperty("rendered");
  });

  test("shows every cell, and of each long output a fair share", async () => {
    const output = (text: string) => ({ output_type: "stream", name: "stdout", text: text.split(/(?<=\n)/) });
    const cell = (source: string, ...outputs: object[]) => ({ cell_type: "code", source, outputs });
    const cells = [
      cell("train()", output("epoch of many\n".repeat(9000)), output("done\n")),
      cell("log()", output("☃".repeat(50_000))),
      ...Array.from({ length: 30 }, (_, index) => cell(`print(${index})`, output(`${index}\n`))),
      { cell_type: "markdown", source: "# The end" },
    ];
    ground.put("a.ipynb", JSON.stringify({ ...NOTEBOOK, cells }));
    const { content = "", ...rest } = await ground.run("read", { path: "a.ipynb" }, FOR_MODELS);
    const size = Buffer.byteLength(content);
    expect([size <= 65_536, size > 60_000]).toEqual([true, true]);
    expect(rest).toMatchObject({
      complete: false,
      reason: "bytes",
      rendered: "notebook",
      hint: "Pass maxBytes: 277153",
    });
    for (let index = 0; index < 30; index++) expect(content).toContain(`\nprint(${index})\n--- output\n${index}\n`);
    expect(content).toContain("\n--- output\ndone\n");
    expect(content.endsWith("\n[33] markdown\n# The end\n")).toBe(true);
    const [long, longer] = [
      content.split("[2] code")[0] ?? "",
      content.split("[2] code")[1]?.split("[3] code")[0] ?? "",
    ];
    expect(Math.abs(Buffer.byteLength(long) - Buffer.byteLength(longer))).toBeLessThan(200);
    expect(long).toMatch(/epoch of many\n… \d+ bytes more\n--- output\ndone\n/);
    expect(longer).toMatch(/☃\n… \d+ bytes more\n/);
    // The call that the hint names shows all of it.
    const all = await ground.run("read", { path: "a.ipynb", maxBytes: 277_153 }, FOR_MODELS);
    expect(all.complete).toBeUndefined();
    expect(all.content).toContain("epoch of many\n".repeat(9000));
  });

  test("of more cells than fit shows the first of them as they are", async () => {
    const cells = Array.from({ length: 4000 }, (_, at) => ({
      ...{ cell_type: "code", source: `step(${at})` },
      outputs: [{ output_type: "stream", text: `row ${at} of many\n` }],
    }));
    ground.put("a.ipynb", JSON.stringify({ ...NOTEBOOK, cells }));
    const { content = "", hint } = await ground.run("read", { path: "a.ipynb" }, FOR_MODELS);
    expect(content).not.toContain("bytes more");
    for (const at of [0, 9, 1000]) expect(content).toContain(`\nstep(${at})\n--- output\nrow ${at} of many\n`);
    expect(hint).toMatch(/^Pass maxBytes: \d+$/);
    const all = await ground.run("read", { path: "a.ipynb", maxBytes: Number(hint?.slice(15)) }, FOR_MODELS);
    expect(all.content).toContain("step(3999)");
  });

  test("of many megabytes of pictures comes as cells too", async () => {
    const picture = { output_type: "display_data", data: { "image/png": "iVBORw0KGgo".repeat(1_200_000) } };
    const [first, ...others] = NOTEBOOK.cells;
    ground.put(
      "a.ipynb",
      JSON.stringify({
        ...NOTEBOOK,
        cells: [first, { cell_type: "code", source: "plot()", outputs: [picture] }, ...others],
      }),
    );
    const read = await ground.run("read", { path: "a.ipynb" }, FOR_MODELS);
    expect(read).toMatchObject({ rendered: "notebook", size: expect.any(Number) });
    expect(read.size).toBeGreaterThan(12_000_000);
    expect(read.content).toContain("\n[2] code\nplot()\n--- output\n[image/png not shown]\n");
  });

  test("of so many values that others would wait for it comes as the text that it is, cut like any other", async () => {
    ground.put(
      "a.ipynb",
      JSON.stringify({ ...NOTEBOOK, metadata: { x: Array.from({ length: 300_000 }, () => [[]]) } }),
    );
    const read = await ground.run("read", { path: "a.ipynb" }, FOR_MODELS);
    expect(read).toMatchObject({ complete: false, length: 65_536 });
    expect(read).not.toHaveProperty("rendered");
  });

  test("of any shape is rendered without a fault", () => {
    const odd = [
      null,
      1,
      "x",
      [],
      {},
      { source: 1, outputs: [null, {}, { data: 1 }, { ename: "E" }, { traceback: [1] }] },
    ];
    expect(notebookText({ nbformat: 4, cells: odd }, 1000)?.text).toBe(
      "rendered; edit one with cell: N\n\n[1] cell\n\n[2] cell\n--- output\nE: \n",
    );
  });
});

describe("a PDF", () => {
  const SHOWN = `rendered; the text of a PDF of 3 pages; its bytes: mode "bytes"

--- page 1 ---
First line
second line

--- page 2 ---

--- page 3 ---
Third
`;

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
    const small = { budget: { ...BUDGET, defaultBytes: 96 } };
    const read = await ground.run("read", { path: "a.pdf" }, small);
    expect(read).toMatchObject({
      content: SHOWN.slice(0, SHOWN.indexOf("second")),
      complete: false,
      truncated: true,
      reason: "bytes",
    });
    expect((await ground.render("read", { path: "a.pdf" }, small)).note).toMatch(/^Cut\. Pass maxBytes: 384\. etag /);
    expect((await ground.run("read", { path: "a.pdf", maxBytes: 384 }, small)).content).toBe(SHOWN);
    // No hint names a call that would change nothing.
    const most = { budget: { ...BUDGET, defaultBytes: 96, maxBytes: 96 } };
    expect((await ground.run("read", { path: "a.pdf" }, most)).hint).toBe(
      'Pass mode: "extract", with pages where it has such',
    );
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
    const tried = async (left: number): Promise<{ description?: string | undefined }> => {
      try {
        return await hurried.run("read", { path: "a.pdf" }, FOR_MODELS);
      } catch (error) {
        // On a machine that stood still.
        if (left === 0 || Object(error).code !== "TIMEOUT") throw error;
        return tried(left - 1);
      }
    };
    const read = await tried(3);
    expect(read.description).toMatch(/^No text: application\/pdf/);
  });
});
