import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { systemClock } from "../../src/core/clock.js";

import { type FileEvent, Merging } from "../../src/feed/file-event.js";

type Step = readonly [type: FileEvent["type"], path: string, from?: string];

const event = ([type, path, from]: Step): FileEvent => ({
  ...{ type, path: path.split("/"), entryType: path.endsWith("dir") ? "directory" : "file", origin: "adapter" },
  ...(from === undefined ? {} : { from: from.split("/") }),
});

const shown = ({ type, path, from }: FileEvent) =>
  [type, path.join("/"), ...(from === undefined ? [] : [from.join("/")])].join(" ");

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** What is told at once, and what is told at the end of the time in which changes become one. */
function told(steps: readonly Step[]): { atOnce: string[]; later: string[] } {
  const all: string[] = [];
  const merging = new Merging(systemClock, (one) => all.push(shown(one)));
  for (const step of steps) merging.add(event(step));
  const atOnce = [...all];
  jest.advanceTimersByTime(100);
  merging.close();
  return { atOnce, later: all.slice(atOnce.length) };
}

describe("changes of one path", () => {
  test.each<[string, Step[], string[], string[]]>([
    ["one", [["created", "a"]], ["created a"], []],
    [
      "of different paths",
      [
        ["created", "a"],
        ["created", "b"],
      ],
      ["created a", "created b"],
      [],
    ],
    [
      "created and modified often",
      [
        ["created", "a"],
        ["modified", "a"],
        ["modified", "a"],
      ],
      ["created a"],
      ["modified a"],
    ],
    [
      "created and deleted",
      [
        ["created", "a"],
        ["deleted", "a"],
      ],
      ["created a"],
      ["deleted a"],
    ],
    [
      "deleted and made again",
      [
        ["deleted", "a"],
        ["created", "a"],
      ],
      ["deleted a"],
      ["created a"],
    ],
    [
      "deleted, made and changed",
      [
        ["deleted", "a"],
        ["created", "a"],
        ["modified", "a"],
      ],
      ["deleted a"],
      ["created a"],
    ],
    [
      "deleted, made and deleted",
      [
        ["deleted", "a"],
        ["created", "a"],
        ["deleted", "a"],
      ],
      ["deleted a"],
      [],
    ],
    [
      "modified, deleted and made",
      [
        ["modified", "a"],
        ["deleted", "a"],
        ["created", "a"],
      ],
      ["modified a"],
      ["modified a"],
    ],
    [
      "moved, at once",
      [
        ["created", "a"],
        ["moved", "b", "a"],
      ],
      ["created a", "moved b a"],
      [],
    ],
    [
      "modified, then moved: nothing is left out",
      [
        ["created", "a"],
        ["modified", "a"],
        ["moved", "b", "a"],
      ],
      ["created a", "modified a", "moved b a"],
      [],
    ],
    [
      "there and back",
      [
        ["moved", "b", "a"],
        ["moved", "a", "b"],
      ],
      ["moved b a", "moved a b"],
      [],
    ],
    [
      "below a directory that is deleted: the directory says it",
      [
        ["created", "dir/a"],
        ["modified", "dir/a"],
        ["deleted", "dir"],
      ],
      ["created dir/a", "deleted dir"],
      [],
    ],
  ])("%s", (_what, steps, atOnce, later) => {
    expect(told(steps)).toEqual({ atOnce, later });
  });

  test("that never end are told every tenth of a second, with the last one at the end", () => {
    const times: number[] = [];
    const merging = new Merging(systemClock, () => times.push(performance.now()));
    const began = performance.now();
    for (let change = 0; change < 150; change += 1) {
      merging.add(event(["modified", "a"]));
      jest.advanceTimersByTime(3);
    }
    jest.advanceTimersByTime(250);
    expect(times.map((time) => time - began)).toEqual([0, 100, 200, 300, 400, 500]);
  });
});
