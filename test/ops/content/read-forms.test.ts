import { describe, expect, test } from "@jest/globals";
import { encodeText } from "../../../src/ops/content/encoding.js";
import { useGround } from "../ground.js";

const ground = useGround();

describe("every form of a read keeps to the default budget", () => {
  const context = { budget: { defaultBytes: 10_000, defaultLines: 200, maxBytes: 1_048_576 } };
  const forms = [
    ...[{}, { head: 1 }, { tail: 1 }, { line: 1, limit: 1 }, { line: 1 }, { offset: 0 }, { offset: 3, length: 90_000 }],
    ...[{ head: 40 }, { tail: 40 }, { line: 2, limit: 30 }, { tail: 7 }, { mode: "bytes" }],
  ];
  const files: Readonly<Record<string, string>> = {
    "one line": "0123456789".repeat(9000),
    "one line of snow": "☃".repeat(30_000),
    "long lines": `${"x".repeat(9000)}\n`.repeat(9),
    "longer lines": `${"é".repeat(8000)}\r\n`.repeat(40),
    "short lines": Array.from({ length: 20_000 }, (_, index) => `${index}\n`).join(""),
    "a long line last": `a\nb\n${"z".repeat(30_000)}`,
  };
  const encodings = ["utf-8", "utf-16le", "shift_jis", "latin1"] as const;

  test.each(Object.keys(files).flatMap((name) => encodings.map((encoding) => [name, encoding] as const)))(
    "%s in %s",
    async (name, encoding) => {
      const text = files[name] ?? "";
      const bytes = encodeText(encoding === "utf-8" ? text : text.replaceAll("☃", "あ"), { encoding, bom: false });
      if (bytes === undefined) return;
      ground.put("file", bytes);
      for (const form of forms) {
        for (const lineNumbers of "mode" in form ? [false] : [false, true]) {
          const said = "mode" in form || encoding === "utf-8" ? {} : { encoding };
          const read = await ground.run("read", { path: "file", ...form, ...said, lineNumbers } as never, context);
          const { content = "", offset = 0, length = bytes.length } = read;
          const shown = "mode" in form ? Buffer.from(content, "base64").length : Buffer.byteLength(content);
          expect([form, shown, length <= 10_000, shown <= 10_000]).toEqual([form, shown, true, true]);
          // What is left over of a budget is less than a short line.
          if (read.reason === "bytes")
            expect([form, lineNumbers || Math.max(shown, length) > 5000]).toEqual([form, true]);
          if (read.encoding === "utf-8" && !lineNumbers) {
            expect(content).toBe(bytes.subarray(offset, offset + length).toString());
          }
          if ("tail" in form) expect(offset + length).toBe(bytes.length);
        }
      }
    },
  );

  test("a tail that does not fit is its end, and says where the rest of it is", async () => {
    const text = Array.from({ length: 3000 }, (_, index) => `line ${index}\n`).join("");
    ground.put("file", text);
    const seen = await ground.render("read", { path: "file", tail: 2500 }, context);
    const shown = seen.kind === "text" ? String(seen.text) : "";
    expect([text.endsWith(shown), shown.length > 9980, shown.startsWith("line ")]).toEqual([true, true, true]);
    const first = text.indexOf("line 500\n");
    const start = text.length - shown.length;
    expect(seen.rest).toMatchObject({ complete: false, reason: "bytes", eof: true, omitted: start - first });
    expect(seen.note).toBe(
      `Cut: bytes ${start}-${text.length} of ${text.length}. Before them: offset: ${first}, length: ${start - first}`,
    );
    const numbered = await ground.run("read", { path: "file", tail: 2500, lineNumbers: true }, context);
    const [number, line] = (numbered.content ?? "").split("\n")[0]?.split("\t") ?? [];
    expect([numbered.startLine, line]).toEqual([Number(number), `line ${Number(number) - 1}`]);
  });
});
