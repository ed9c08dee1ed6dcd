import { truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { useGround } from "../ground.js";

const LINE = Buffer.from("a line of a large file, as long as lines are;\r\n");

describe("file:edit of a large file", () => {
  const ground = useGround();

  test("changes it at one place, and lets other calls run", async () => {
    const half = Buffer.alloc(681_000 * LINE.length, LINE);
    ground.put("f", Buffer.concat([half, Buffer.from("the one\r\n"), half]));
    ground.put("small", "a");
    let reads = 0;
    let isOver = false;
    const edited = ground.run("edit", { path: "f", oldText: "the one", newText: "this\nnew $& one" }).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await ground.run("read", { path: "small" });
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (!isOver) reads++;
    }
    const { size, firstChangedLine, applied } = await edited;
    expect(ground.get("f").equals(Buffer.concat([half, Buffer.from("this\r\nnew $& one\r\n"), half]))).toBe(true);
    expect({ size, firstChangedLine, applied }).toEqual({
      size: 2 * half.length + 18,
      firstChangedLine: 681_001,
      applied: 1,
    });
    expect(reads).toBeGreaterThan(3);
  });

  test("is refused beyond what is held in memory, with what can be done instead", async () => {
    ground.put("f", "start");
    truncateSync(join(ground.dir, "f"), 67_108_865);
    const { code, message } = await ground.fail("edit", { path: "f", oldText: "start", newText: "" });
    expect([code, message]).toEqual([
      "TOO_LARGE",
      "File is too large to edit: 67108865 bytes, limit 67108864. Read its parts (offset, length), and add to it with file:append",
    ]);
    await ground.run("append", { path: "f", content: "end" });
    expect(await ground.run("read", { path: "f", offset: 67_108_865, length: 3 })).toMatchObject({ content: "end" });
  });
});
