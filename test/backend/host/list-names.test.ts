import { describe, expect, test } from "@jest/globals";
import { ListNames } from "../../../src/backend/host/list-names.js";
import type { Name } from "../../../src/jail/directory.js";

const directory = (ino: number) => `1:${ino}`;
const names = (count: number, length = 4): Name[] =>
  Array.from({ length: count }, (_, index) => ({ name: String(index).padStart(length, "0"), raw: "", type: "file" }));

describe("names kept for later pages", () => {
  test("serve the same caller and directory for 30 seconds", () => {
    let now = 0;
    const kept = new ListNames(() => now);
    kept.set("alice", directory(1), { names: names(2), denied: 1, limit: 1 });
    now = 29_999;
    expect(kept.get("alice", directory(1))).toMatchObject({ denied: 1, names: [{}, {}] });
    expect(kept.get("bob", directory(1))).toBeUndefined();
    expect(kept.get("alice", directory(2))).toBeUndefined();
    now = 30_000;
    expect(kept.get("alice", directory(1))).toBeUndefined();
  });

  test("are replaced by a newer first page, and dropped when there is no later one", () => {
    const kept = new ListNames(() => 0);
    kept.set("alice", directory(1), { names: names(2), denied: 0, limit: 1 });
    kept.set("alice", directory(1), { names: names(3), denied: 0, limit: 1 });
    expect(kept.get("alice", directory(1))?.names).toHaveLength(3);
    kept.delete("alice", directory(1));
    expect(kept.get("alice", directory(1))).toBeUndefined();
  });

  test("of so many directories only, the newest", () => {
    const kept = new ListNames(() => 0);
    for (let ino = 0; ino < 100; ino++) kept.set("alice", directory(ino), { names: names(1), denied: 0, limit: 1 });
    const left = Array.from({ length: 100 }, (_, ino) => ino).filter((ino) => kept.get("alice", directory(ino)));
    expect(left).toEqual(Array.from({ length: 64 }, (_, index) => 36 + index));
  });

  test("of so many bytes only; what is larger alone is not kept", () => {
    const kept = new ListNames(() => 0);
    for (let ino = 0; ino < 4; ino++) kept.set("alice", directory(ino), { names: names(100_000), denied: 0, limit: 1 });
    expect([0, 1, 2, 3].map((ino) => kept.get("alice", directory(ino)) !== undefined)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    kept.set("alice", directory(9), { names: names(350_000), denied: 0, limit: 1 });
    expect(kept.get("alice", directory(9))).toBeUndefined();
    expect(kept.get("alice", directory(3))).toBeDefined();
  });
});
