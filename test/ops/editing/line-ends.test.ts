import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { linesOf } from "../../../src/ops/content/terminators.js";
import { useGround } from "../ground.js";

describe("file:edit keeps the line ends of lines that it keeps, and gives new lines those of their neighbours", () => {
  const ground = useGround();

  async function edited(before: string, edit: object): Promise<string> {
    ground.put("f", before);
    await ground.run("edit", { path: "f", ...edit });
    return ground.get("f").toString();
  }

  test.each<[string, string, string, string, string]>([
    ["a line between kept ones", "p\r\nq\nr\r\ns\n", "p\nq\nr\ns", "p\nq\nnew\nr\ns", "p\r\nq\nnew\nr\r\ns\n"],
    ["a line that changes", "p\r\nq\nr\r\ns\n", "p\nq\nr\n", "p\nQ\nr\n", "p\r\nQ\nr\r\ns\n"],
    ["a line that goes", "p\nq\r\nr\ns\r\n", "p\nq\nr\n", "p\nr\n", "p\nr\ns\r\n"],
    ["a line before the first", "p\nq\r\nr\ns\n", "q\nr", "new\nq\nr", "p\nnew\r\nq\r\nr\ns\n"],
    ["a line that is split", "p\nq w\r\nr\n", "q w", "q\nw", "p\nq\r\nw\r\nr\n"],
    ["lines behind the last end", "p\r\nq\nlast", "last", "last\nmore\n", "p\r\nq\nlast\nmore\n"],
    ["an old text that begins with a line end", "p\r\nq\nr\n", "\nq", "\nnew\nq", "p\r\nnew\r\nq\nr\n"],
    ["a line feed that goes takes its return along", "p\r\nq\nr\n", "\nq", "q", "pq\nr\n"],
    ["a change of several lines", "1\r\n2\n3\r\n4\n5\r\n", "2\n3\n4\n", "2\nx\ny\n4\n", "1\r\n2\nx\r\ny\r\n4\n5\r\n"],
    ["a return inside of a line", "10%\r20%\nend\n", "20%", "20%\n21%", "10%\r20%\n21%\nend\n"],
    ["CRLF that is given into LF", "p\nq\n", "q", "q\r\nnew", "p\nq\r\nnew\n"],
    ["both kinds that are given as they are", "p\r\nq\nr\r\n", "p\r\nq\n", "p\r\nnew\nq\n", "p\r\nnew\nq\nr\r\n"],
    ["CRLF for the LF of the file in both texts", "p\nq\nr\n", "p\r\nq", "p\r\nnew\r\nq", "p\nnew\nq\nr\n"],
    ["line ends alone, to LF", "p\r\nq\r\n", "p\r\n", "p\n", "p\nq\r\n"],
    ["line ends alone, to CRLF", "p\nq\n", "p\n", "p\r\n", "p\r\nq\n"],
    ["LF into CRLF alone", "p\r\nq\r\n", "q", "q\n$&\n$1", "p\r\nq\r\n$&\r\n$1\r\n"],
  ])("%s", async (_, before, oldText, newText, after) => {
    expect(await edited(before, { oldText, newText })).toBe(after);
  });

  test("each occurrence by its own lines", async () => {
    const before = "x\r\ny\n-\nx\ny\r\n";
    expect(await edited(before, { oldText: "x\ny", newText: "x\nn\ny", expect: 2 })).toBe(
      "x\r\nn\r\ny\n-\nx\nn\ny\r\n",
    );
  });

  test("in a long change too", async () => {
    const lines = Array.from({ length: 600 }, (_, at) => `line ${at}${at % 3 === 0 ? "\r\n" : "\n"}`);
    const before = lines.join("");
    const plain = before.replaceAll("\r\n", "\n");
    const changed = (text: string) => `first\n${text.replace("line 300", "LINE 300").replace("line 0", "line 0 ")}last`;
    const after = await edited(before, { oldText: plain, newText: changed(plain) });
    expect(after.split("\n").slice(2, -1)).toEqual(changed(before).split("\n").slice(2, -1));
  });

  test("whatever lines are kept and added", async () => {
    const line = fc.constantFrom("a", "b", "c", "");
    const end = fc.constantFrom("\n", "\r\n");
    const steps = fc.array(fc.record({ line, end, does: fc.constantFrom("keep", "keep", "drop", "add") }), {
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const olds = all.filter(({ does }) => does !== "add");
        const before = `start\r\n${olds.map((one) => one.line + one.end).join("")}end\n`;
        const plain = olds.map((one) => `${one.line}\n`).join("");
        const news = all.filter(({ does }) => does !== "drop").map((one) => `${one.line}\n`);
        const newText = `start\n${news.join("")}end\n`;
        const after = await edited(before, { oldText: `start\n${plain}end\n`, newText });
        expect(after.replaceAll("\r\n", "\n")).toBe(newText);
        // Where nothing was added or dropped, nothing changes.
        if (olds.length === all.length && news.length === olds.length) expect(after).toBe(before);
        expect(linesOf(after)[0]).toEqual({ text: "start", end: "\r\n" });
        expect(linesOf(after).at(-2)).toEqual({ text: "end", end: "\n" });
      }),
      { numRuns: 150 },
    );
  });
});
