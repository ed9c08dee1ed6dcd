import { describe, expect, test } from "@jest/globals";
import type { CellStore } from "../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../src/drive/store/memory.js";
import { useDrives } from "./ground.js";

let asked: Record<string, number> = {};

/** A store that counts what it is asked for. */
const counted = (): CellStore =>
  new Proxy(createMemoryStore(), {
    get(target, name: keyof CellStore) {
      const value: unknown = target[name];
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        asked[name] = (asked[name] ?? 0) + 1;
        return value.apply(target, args);
      };
    },
  });

const updateOf = (from: number, to: number, turn: number): string =>
  [
    "*** Begin Patch",
    ...Array.from({ length: to - from }, (_, index) => [
      `*** Update File: f${from + index}`,
      "@@",
      `-turn ${turn}`,
      `+turn ${turn + 1}`,
    ]).flat(),
    "*** End Patch",
    "",
  ].join("\n");

describe("a patch of a drive", () => {
  const { call } = useDrives({ store: counted });

  const requestsOf = async (patch: string): Promise<Record<string, number>> => {
    asked = {};
    await call("file:patch", { root: "mine", patch });
    return asked;
  };

  test("asks for the root of the owner as often for 20 files as for 2, and swaps it once", async () => {
    for (let file = 0; file < 22; file++) {
      await call("file:write", { root: "mine", path: `f${file}`, content: `turn 0\nmore\n` });
    }
    const few = await requestsOf(updateOf(20, 22, 0));
    const many = await requestsOf(updateOf(0, 20, 0));
    expect(few["pin"]).toBeGreaterThan(0);
    expect({ pin: many["pin"], batch: many["batch"] }).toEqual({ pin: few["pin"], batch: few["batch"] });
    expect(await call("file:read", { root: "mine", path: "f7" })).toMatchObject({ content: "turn 1\nmore\n" });
  });
});
