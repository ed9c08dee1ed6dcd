// Every help page, completion script and refused command line, byte for byte.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { runHere } from "../in-process.js";
import { cleanUp } from "../process.js";

afterAll(cleanUp);

const read = (name: string): string => readFileSync(join(import.meta.dirname, "golden", name), "utf8");

/** The command lines of a file, each with what is written. */
const recorded = (name: string): readonly (readonly [string, string])[] =>
  read(name)
    .split(/^\$ venue-files ?/m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end), part.slice(end + 1)] as const;
    });

const wordsOf = (line: string): string[] => line.split(" ").filter((word) => word !== "");

test.each(recorded("pages.txt"))("venue-files %s", async (line, page) => {
  expect(await runHere(wordsOf(line))).toMatchObject({ status: 0, stdout: page, stderr: "" });
});

test("every command has its page among them", async () => {
  const { stdout } = await runHere(["help"]);
  const pages = recorded("pages.txt").map(([line]) => line);
  const { stderr } = await runHere(["frobnicate"]);
  const [, names = ""] = /Commands: (.*)/.exec(stderr) ?? [];
  for (const name of names.split(", ")) {
    expect(pages.some((page) => page === `help ${name}` || page.startsWith(`help ${name} `) || name === "help")).toBe(
      true,
    );
  }
  expect(stdout).toContain("venue-files help grant");
});

test.each(["bash", "zsh", "fish", "powershell"])("completion of %s", async (shell) => {
  expect((await runHere(["completion", shell])).stdout).toBe(read(`completion.${shell}`));
});

test("a wrong command line is refused in these words, and says where its help is", async () => {
  const lines = recorded("errors.txt");
  const said: (readonly [string, string])[] = [];
  for (const [line] of lines) {
    const { status, stdout, stderr } = await runHere(wordsOf(line));
    said.push([line, status === 64 && stdout === "" ? stderr : `exit status ${status}: ${stderr}`]);
  }
  expect(said).toEqual(lines);
});
