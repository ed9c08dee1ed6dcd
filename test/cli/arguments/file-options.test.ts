import { describe, expect, test } from "@jest/globals";
import { findFileCommand, readFileLine } from "../../../src/cli/arguments/files/line.js";
import { placeOf } from "../../../src/cli/arguments/files/options.js";
import { FILE_COMMANDS, fileOptions, isFileCommand } from "../../../src/cli/commands/files.js";
import { helpText } from "../../../src/cli/help/help.js";

async function command(...argv: string[]) {
  const found = await findFileCommand(argv);
  const run = found && readFileLine(found.name, found.args);
  if (run === undefined) throw new Error("It is no command on files");
  return run;
}
const NAMES = Object.keys(FILE_COMMANDS).filter(isFileCommand);

describe("a command line on files", () => {
  test("has the short options of its namesake, together too", async () => {
    const short = { long: true, all: true, one: true, time: false, "human-readable": false };
    expect(await command("ls", "-la1", "d:")).toMatchObject({ name: "ls", values: short, words: ["d:"] });
    expect(await command("head", "-n", "5", "d:a")).toMatchObject({ values: { lines: "5" } });
    expect(await command("head", "-n5", "d:a")).toMatchObject({ values: { lines: "5" } });
  });

  test("takes the options of 'call', before the command and behind it", async () => {
    const calls = { source: { file: "v.json5", roots: ["a=b", "c=d:ro"] }, capsFile: "c.json5" };
    const options = ["--config", "v.json5", "--root", "a=b", "--root=c=d:ro", "--caps", "c.json5"];
    expect(await command("ls", ...options, "a:")).toMatchObject({ calls, words: ["a:"] });
    expect(await command(...options, "ls", "a:")).toMatchObject({ calls, words: ["a:"] });
    const caller = { key: "alice", proofs: ["a.ucan"] };
    expect(await command("ls", "--key", "alice", "--proof", "a.ucan")).toMatchObject({ calls: { caller } });
  });

  test("takes any text for an edit", async () => {
    const edit = await command("edit", "d:a", "--old", "--x", "--new", "");
    expect(edit).toMatchObject({ values: { old: "--x", new: "" } });
  });

  test.each([
    [["ls", "--lnog"], "'ls' has no option --lnog - did you mean '--long'?"],
    [["cat", "-l", "d:a"], "'cat' has no option -l"],
    [["ls", "--long=yes"], "--long takes no value"],
    [["head", "-n"], "-n needs a value"],
    [["head", "-n", "-3", "d:a"], "-n needs a value"],
    [["edit", "--expect", "1", "--expect", "2"], "--expect is given more than once"],
    [["ls", "--proof", "a.ucan"], "--proof needs --key: without it the caller is the operator, who needs no proof"],
  ])("%j is refused: %s", async (argv, message) => {
    await expect(command(...argv)).rejects.toThrow(message);
  });

  test("shows no token", async () => {
    const token = `eyJ${"a".repeat(20)}.${"b".repeat(20)}.${"c".repeat(20)}`;
    for (const argv of [
      ["ls", token],
      ["ls", "--key", token],
      ["head", "-n", token, "d:a"],
    ]) {
      await expect(command(...argv)).rejects.toThrow(/seems to be a token or a key itself/);
    }
  });

  test.each(NAMES)("has help: %s", async (name) => {
    const help = helpText([name], true);
    expect(await command(name, "--help")).toBe("help");
    expect(await command(name, "--wrong", "--help")).toBe("help");
    expect(help.startsWith(`venue-files ${name}`)).toBe(true);
    for (const option of Object.keys(fileOptions(name))) expect(help).toMatch(new RegExp(`--?${option}\\b`));
    expect(help.split("\n").every((line) => line.length <= 120)).toBe(true);
    expect(helpText(["files"], true)).toContain(`venue-files ${name} `);
  });
});

test("a place is a root and a path in it", () => {
  expect(placeOf("docs:a/b:c")).toEqual({ root: "docs", path: "a/b:c" });
  expect(placeOf("docs:")).toEqual({ root: "docs", path: "" });
  for (const word of ["docs", ":a", ""])
    expect(() => placeOf(word)).toThrow(/names no root: say ROOT:PATH.*the NAME of --root NAME=FOLDER, or the folder/);
});
