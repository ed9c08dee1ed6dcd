import { describe, expect, test } from "@jest/globals";
import { notebookText } from "../../../src/ops/rendering/notebook.js";
import { etagOfContent } from "../content/etags.js";
import { useGround } from "../ground.js";

const ground = useGround();
const FOR_MODELS = { budget: { defaultBytes: 65_536, defaultLines: 2000, maxBytes: 1_048_576 } };

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

describe("a notebook", () => {
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
