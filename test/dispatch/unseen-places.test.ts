// What a caller may not read is not looked at for it: how long that takes would tell what there is.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type McpGround, openMcpGround } from "../surfaces/mcp/resources/ways.js";

let ground: McpGround;
beforeAll(async () => {
  ground = await openMcpGround({
    roots: (home) => {
      for (const name of ["public/in", "private", "denied"]) mkdirSync(join(home, "docs", name), { recursive: true });
      return { docs: { path: join(home, "docs"), deny: ["denied"] } };
    },
  });
});
afterAll(() => ground.close());

test.each<[path: string, caps: string, isWatched: boolean]>([
  ["", "file://docs/public/", true],
  ["public", "file://docs/public/", true],
  ["public/in", "file://docs/public/", true],
  ["public", "file://docs/public/in/", true],
  ["private", "file://docs/", true],
  ["private", "file://docs/public/", false],
  ["private/none", "file://docs/public/", false],
  ["none", "file://docs/public/", false],
  ["public2", "file://docs/public/", false],
  ["denied", "file://docs/", false],
])("%j is watched by rights on %s: %s", (path, resource, isWatched) => {
  const { access, adapter } = ground.venue;
  const caps = [{ with: resource, can: "crud/read" }];
  const context = { callerDID: access.did, authentication: "identity", caps } as const;
  const place = adapter.watchPlace({ root: "docs", path }, context);
  expect(place).toBeDefined();
  expect(Reflect.get(place?.coverage ?? {}, "isOver")).toBe(!isWatched);
  place?.close();
});

test("no place is watched by rights to write", () => {
  const { access, adapter } = ground.venue;
  const caps = [{ with: "file://docs/", can: "crud/write" }];
  const place = adapter.watchPlace({ root: "docs", path: "private" }, { callerDID: access.did, caps });
  expect(Reflect.get(place?.coverage ?? {}, "isOver")).toBe(true);
  place?.close();
});
