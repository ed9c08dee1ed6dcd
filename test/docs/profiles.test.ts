import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("each row of Jettson's tables names tests that there are", () => {
  const folder = "test/profiles/jettson";
  const tests = readdirSync(new URL(`../../${folder}`, import.meta.url)).map((file) => read(`${folder}/${file}`));
  const all = tests.join("\n");
  const rows = read("docs/profile-jettson.md")
    .split("\n")
    .filter((line) => /^\|.*\|.*\|.*\|$/.test(line));
  const cells = rows.map((row) => row.split("|").at(-2)?.trim() ?? "").filter((cell) => /"/.test(cell));
  expect(cells.length).toBeGreaterThan(25);
  const named = cells.flatMap((cell) => [...cell.matchAll(/"([^"]+)"/g)].map(([, name]) => name ?? ""));
  const isThere = (name: string) =>
    all.includes(name.replace(/^200 of/, " of")) || new RegExp(name.replace("…", ".+")).test(all);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});
