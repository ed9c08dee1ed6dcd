// Typing in a list of the page: which key is part of a word, and where the word leads.
import { expect, test } from "@jest/globals";
import { type Key, TypeAhead } from "../../web/src/ui/type-ahead.js";

const NAMES = ["docs", "Übung", "draft one", "draft two", "Éclair", "notes", "zoo"];

const press = (key: string, timeStamp: number, held: Partial<Key> = {}): Key => ({
  ...{ key, timeStamp, ctrlKey: false, metaKey: false, altKey: false },
  ...held,
});

/** Types keys 100 ms apart. @returns the entry with the focus after each */
function typeIn(names: readonly string[], keys: readonly string[], active = 0, pause = 100): string[] {
  const typing = new TypeAhead();
  let at = active;
  return keys.map((key, index) => {
    if (typing.takes(press(key, index * pause))) at = typing.find(names, at) ?? at;
    return names[at] ?? "";
  });
}

test.each<[string, string[], string[]]>([
  ["a character goes to the next that begins so", ["n"], ["notes"]],
  ["the same again goes on, and round", ["d", "d", "d"], ["draft one", "draft two", "docs"]],
  ["a word goes to what begins with all of it", ["d", "o"], ["draft one", "docs"]],
  [
    "a space within a word is part of it",
    ["d", "r", "a", "f", "t", " ", "t"],
    [...Array(6).fill("draft one"), "draft two"],
  ],
  ["case and accents make no difference", ["u"], ["Übung"]],
  ["nor where they are typed", ["Shift", "Ü", "B"], ["docs", "Übung", "Übung"]],
  ["what is nowhere moves nothing", ["x"], ["docs"]],
])("%s", (_what, keys, expected) => {
  expect(typeIn(NAMES, keys)).toEqual(expected);
});

test("a pause begins another word", () => {
  expect(typeIn(NAMES, ["d", "n"], 0, 100).at(-1)).toBe("draft one");
  expect(typeIn(NAMES, ["d", "n"], 0, 5000).at(-1)).toBe("notes");
});

test("keys with a modifier, keys that move, and a space by itself are no part of a word", () => {
  const typing = new TypeAhead();
  expect(typing.takes(press(" ", 0))).toBe(false);
  for (const held of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }])
    expect(typing.takes(press("n", 0, held))).toBe(false);
  for (const key of ["ArrowDown", "Enter", "Delete", "F2"]) expect(typing.takes(press(key, 0))).toBe(false);
  expect(typing.find(NAMES, 0)).toBeUndefined();
  expect(typing.find([], 0)).toBeUndefined();
});

test("a word that was begun ends at a key that moves", () => {
  const typing = new TypeAhead();
  typing.takes(press("d", 0));
  typing.takes(press("ArrowDown", 10));
  typing.takes(press("z", 20));
  expect(typing.find(NAMES, 0)).toBe(6);
});
