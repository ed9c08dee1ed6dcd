import { expect, test } from "@jest/globals";
import { changesOf } from "../../../src/cli/files/makers.js";
import type { FileSession } from "../../../src/cli/files/session.js";

/** A session in which there are so many pages of changes. */
function sessionWith(pages: number) {
  const told: string[] = [];
  let page = 0;
  const session = {
    context: { stderr: { write: (text: string) => told.push(text) } },
    invoke: async () => ({
      entries: Array.from({ length: 500 }, () => ({})),
      ...(++page < pages ? { nextCursor: `${page}` } : {}),
    }),
  };
  return { session: session as unknown as FileSession, told };
}

test("changes that are not looked through are told of", async () => {
  const all = sessionWith(40);
  expect(await changesOf({}, all.session)).toHaveLength(20_000);
  expect(all.told).toEqual([]);
  const some = sessionWith(41);
  expect(await changesOf({}, some.session)).toHaveLength(20_000);
  expect(some.told).toEqual(["venue-files: looked through the newest 20000 changes only\n"]);
});
