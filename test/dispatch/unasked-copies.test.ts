import { afterEach, expect, jest, test } from "@jest/globals";
import { ContentCopy } from "../../src/backend/host/changes/content-copy.js";
import { type Ground, useGround } from "../ops/ground.js";

afterEach(() => {
  jest.restoreAllMocks();
});

const COPIES = [
  { path: "f", to: "n" },
  { path: "f", to: "g", overwrite: true },
  { path: "t", to: "n", recursive: true },
];

/** Copies for a caller who is asked about. @returns for each file whether the system may copy it */
async function copied(ground: Ground, input: (typeof COPIES)[number]): Promise<readonly boolean[]> {
  for (const path of ["f", "g", "t/a"]) ground.put(path, path);
  const copy = ContentCopy.prototype.copy;
  const bySystem: boolean[] = [];
  jest.spyOn(ContentCopy.prototype, "copy").mockImplementation(function (this: ContentCopy, file, to) {
    bySystem.push(file.descriptor !== undefined);
    return copy.call(this, file, to);
  });
  await ground.adapter.invoke("file:copy", { root: "r", ...input }, { surface: "mcp" });
  return bySystem;
}

const asksElse = useGround({ root: { approve: { for: ["delete", "exec"] } } });
const asksIfLarge = useGround({ root: { approve: { for: ["all"], over: { bytes: 1_000 } } } });

test.each(COPIES)("a copy that nobody is asked about is made as in any root: %j", async (input) => {
  expect(await copied(asksElse, input)).toEqual([true]);
});

test.each(COPIES)("a copy that may turn out to be large is read: %j", async (input) => {
  expect(await copied(asksIfLarge, input)).toEqual([false]);
});
