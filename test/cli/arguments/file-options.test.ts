import { describe, expect, test } from "@jest/globals";
import {
  FILE_COMMANDS,
  type FileCommandName,
  parseFileLine,
  placeOf,
} from "../../../src/cli/arguments/files/options.js";
import { fileHelp } from "../../../src/cli/help/files.js";
import { helpText } from "../../../src/cli/help/help.js";

const parse = (...argv: string[]) => parseFileLine(argv);
const command = (...argv: string[]) => {
  const parsed = parse(...argv);
  if (parsed?.name !== "file") throw new Error(`It is '${parsed?.name}'`);
  return parsed;
};
const NAMES = Object.keys(FILE_COMMANDS) as FileCommandName[];

describe("a command line on files", () => {
  test("has the short options of its namesake, together too", () => {
    expect([...command("ls", "-la1", "d:").command.flags]).toEqual(["long", "all", "one"]);
    expect(command("head", "-n", "5", "d:a").command.values.get("lines")).toBe("5");
    expect(command("head", "-n5", "d:a").command.values.get("lines")).toBe("5");
  });

  test("takes the options of 'call', before the command and behind it", () => {
    const expected = { source: { file: "v.json5", roots: ["a=b", "c=d:ro"] }, capsFile: "c.json5" };
    const options = ["--config", "v.json5", "--root", "a=b", "--root=c=d:ro", "--caps", "c.json5"];
    expect(command("ls", ...options, "a:")).toMatchObject(expected);
    expect(command(...options, "ls", "a:")).toMatchObject({ ...expected, command: { words: ["a:"] } });
    expect(command("ls", "--key", "alice", "--proof", "a.ucan")).toMatchObject({
      caller: { key: "alice", proofs: ["a.ucan"] },
    });
  });

  test("takes any text for an edit", () => {
    const { values } = command("edit", "d:a", "--old", "--x", "--new", "").command;
    expect([values.get("old"), values.get("new")]).toEqual(["--x", ""]);
  });

  test.each([
    [["ls", "--lnog"], "'ls' has no option --lnog - did you mean '--long'?"],
    [["cat", "-l", "d:a"], "'cat' has no option -l"],
    [["ls", "--long=yes"], "--long takes no value"],
    [["head", "-n"], "-n needs a value"],
    [["head", "-n", "-3", "d:a"], "-n needs a value"],
    [["edit", "--expect", "1", "--expect", "2"], "--expect is given more than once"],
    [["ls", "--proof", "a.ucan"], "--proof needs --key: without it the caller is the operator, who needs no proof"],
  ])("%j is refused: %s", (argv, message) => {
    expect(() => parse(...argv)).toThrow(message);
  });

  test("shows no token", () => {
    const token = `eyJ${"a".repeat(20)}.${"b".repeat(20)}.${"c".repeat(20)}`;
    for (const argv of [
      ["ls", token],
      ["ls", "--key", token],
      ["head", "-n", token, "d:a"],
    ]) {
      expect(() => parse(...argv)).toThrow(/seems to be a token or a key itself/);
    }
  });

  test.each(NAMES)("has help: %s", (name) => {
    const help = fileHelp(name);
    for (const argv of [
      ["help", name],
      [name, "--help"],
      [name, "--wrong", "--help"],
    ]) {
      expect(parse(...argv)).toEqual({ name: "file help", topic: name });
    }
    expect(help.startsWith(`venue-files ${name}`)).toBe(true);
    for (const option of Object.keys(FILE_COMMANDS[name])) expect(help).toMatch(new RegExp(`--?${option}\\b`));
    expect(help.split("\n").every((line) => line.length <= 120)).toBe(true);
    expect(helpText(["files"], true)).toContain(`venue-files ${name} `);
  });
});

test("a place is a root and a path in it", () => {
  expect(placeOf("docs:a/b:c")).toEqual({ root: "docs", path: "a/b:c" });
  expect(placeOf("docs:")).toEqual({ root: "docs", path: "" });
  for (const word of ["docs", ":a", ""]) expect(() => placeOf(word)).toThrow(/names no root: say ROOT:PATH/);
});
