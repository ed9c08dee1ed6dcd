import { describe, expect, test } from "@jest/globals";
import { notebookText } from "../../../src/ops/rendering/read-rendered.js";
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

const SHOWN = `rendered; edit with mode "text"

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
    expect(SHOWN.startsWith(read.content ?? "-")).toBe(true);
    expect(read).toMatchObject({ complete: false, truncated: true, reason: "bytes" });
    expect(Buffer.byteLength(read.content ?? "")).toBeLessThanOrEqual(60);
    const rendering = await ground.render("read", { path: "a.ipynb" }, small);
    expect(rendering.note).toMatch(/^Cut\. Pass a larger maxBytes, or mode: "text" with line and limit\. etag /);
    expect((await ground.run("read", { path: "a.ipynb", maxBytes: 1000 }, small)).content).toBe(SHOWN);
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

  test("is read as text above 4 MB, cut like any other", async () => {
    ground.put("a.ipynb", JSON.stringify({ ...NOTEBOOK, metadata: { x: "x".repeat(4_194_304) } }));
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
    expect(notebookText({ nbformat: 4, cells: odd })).toBe(
      'rendered; edit with mode "text"\n\n[1] cell\n\n[2] cell\n--- output\nE: \n',
    );
  });
});
