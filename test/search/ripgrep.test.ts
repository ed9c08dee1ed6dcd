import { isUtf8 } from "node:buffer";
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { rgPath } from "@vscode/ripgrep";
import fc from "fast-check";
import { useGround } from "../ops/ground.js";

const ground = useGround();

interface Search {
  readonly pattern: string;
  /** The same for ripgrep, whose classes are those of Unicode. */
  readonly theirs: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
}

/** `path:line:text` of every line that ripgrep finds in what we take for text. */
function ripgrep({ theirs, literal, ignoreCase }: Search, isText: (path: string) => boolean): string[] {
  const flags = [literal ? "-F" : "--engine=default", ignoreCase ? "-i" : "--case-sensitive"];
  const { stdout, status, stderr } = spawnSync(
    rgPath,
    [
      ...["--no-config", "--hidden", "--no-ignore", "--no-heading", "--with-filename", "--null", "--line-number"],
      ...["--text", "--crlf", "--sort=path", "--color=never", ...flags, "-e", theirs, "--", "./"],
    ],
    { cwd: ground.dir, encoding: "buffer" },
  );
  if (status !== 0 && status !== 1) throw new Error(stderr.toString());
  const found: string[] = [];
  // As latin1, in which no byte is lost.
  for (const [, path = "", line, text = ""] of stdout.toString("latin1").matchAll(/\.\/([^\0]*)\0(\d+):([^\n]*)\n/g)) {
    const bytes = Buffer.from(text.replace(/\r$/, ""), "latin1");
    if (isText(path) && isUtf8(bytes)) found.push(`${path}:${line}:${bytes.toString()}`);
  }
  return found;
}

async function ours({ theirs: _, ...search }: Search): Promise<string[]> {
  const found = await ground.run("grep", { ...search, ignore: "none", limit: 2000, timeoutMs: 60_000 });
  expect(found.complete).toBe(true);
  // Of lines that are not UTF-8 the engines read the bad bytes differently.
  const whole = (found.matches ?? []).filter(({ text }) => !text.includes("\ufffd"));
  return whole.map(({ path, line, text }) => `${path}:${line}:${text}`);
}

const CHARS = ["a", "b", "A", "B", "k", "K", "\u212a", "s", "\u017f", "ß", "é", "É", "0", "_", " ", "-", "(", "😀"];
const line = fc.string({ unit: fc.constantFrom(...CHARS), maxLength: 8 }).map((text) => Buffer.from(text));
const odd = fc.constantFrom(Buffer.of(0), Buffer.of(0xff), Buffer.of(0xc3), Buffer.from("a".repeat(390)));
const part = fc.oneof({ weight: 12, arbitrary: line }, { weight: 1, arbitrary: odd });
const end = fc.constantFrom("\n", "\n", "\r\n").map((text) => Buffer.from(text));
const content = fc
  .tuple(
    fc.constantFrom("", "", "\ufeff").map((text) => Buffer.from(text)),
    fc.array(fc.tuple(part, end), { maxLength: 8 }),
    fc.constantFrom(0, 0, 0, 20),
    line,
  )
  .map(([bom, lines, fill, last]) =>
    // Enough lines that blocks of them are looked at.
    Buffer.concat([bom, ...lines.flat(), Buffer.from(`${"z".repeat(150)}\n`.repeat(fill)), last]),
  );
const tree = fc.dictionary(fc.constantFrom("a", "b.c", "d/e", "d/f/g", ".h", "i"), content, { minKeys: 1, maxKeys: 4 });

/** What both engines read alike: ours first. */
const atom = fc.constantFrom<readonly [string, string]>(
  ...[
    "a",
    "b",
    "ab",
    "k",
    "s",
    "ß",
    "\\x{212a}",
    "[a-k]",
    "[^a]",
    ".",
    "^",
    "$",
    "\\(",
    "-",
    "(?i:é)",
    "[[:alpha:]]",
  ].map((same) => [same, same] as const),
  ["\\w", "[0-9A-Za-z_]"],
  ["\\W", "[^0-9A-Za-z_]"],
  ["\\d", "[0-9]"],
  ["\\s", "[\\t ]"],
  ["\\S", "[^\\t ]"],
);
const piece = fc.tuple(atom, fc.constantFrom("", "", "*", "+", "?", "{2}"));
const expression = fc
  .tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.constantFrom("", "|b", "|^$"))
  .map(([parts, more]) => {
    const side = (at: 0 | 1) => parts.map(([both, many]) => `(?:${both[at]})${many}`).join("") + more;
    return { pattern: side(0), theirs: side(1), literal: false };
  });
const literal = fc
  .string({ unit: fc.constantFrom(...CHARS), minLength: 1, maxLength: 3 })
  .map((pattern) => ({ pattern, theirs: pattern, literal: true }));
const search = fc
  .tuple(fc.oneof({ weight: 3, arbitrary: expression }, literal), fc.boolean())
  .map(([what, ignoreCase]): Search => ({ ...what, ignoreCase }));

test("what is found is what ripgrep finds in the same files", async () => {
  await fc.assert(
    fc.asyncProperty(tree, search, async (files, what) => {
      for (const name of ground.names()) rmSync(`${ground.dir}/${name}`, { recursive: true });
      for (const [path, bytes] of Object.entries(files)) ground.put(path, bytes);
      const isText = (path: string): boolean => {
        const bytes = files[path] ?? Buffer.of();
        return !bytes.subarray(0, 8192).includes(0) && (isUtf8(bytes) || !bytes.includes(0));
      };
      expect((await ours(what)).sort()).toEqual(ripgrep(what, isText).sort());
    }),
    { numRuns: 120 },
  );
});
