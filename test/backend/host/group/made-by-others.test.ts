import { afterEach, expect, jest, test } from "@jest/globals";
import { Locks } from "../../../../src/jail/staging/locks.js";
import { Sys } from "../../../../src/jail/sys.js";
import { useGround } from "../../../ops/ground.js";

const ground = useGround({ journal: true });
afterEach(() => {
  jest.restoreAllMocks();
});

test.each([
  ["on the way", { op: "write", path: "d/x", content: "1" }, ["d"]],
  ["of its own", { op: "mkdir", path: "d" }, ["d"]],
  ["on the way to its own", { op: "mkdir", path: "d/e" }, ["d"]],
  ["elsewhere", { op: "write", path: "f/x", content: "1" }, ["d"]],
])("a group that fails leaves a directory that others have made since it looked: %s", async (_, change, left) => {
  const { link } = Sys.prototype;
  const { hold } = Locks.prototype;
  jest.spyOn(Locks.prototype, "hold").mockImplementation(function* (this: Locks, request) {
    ground.mkdir("d");
    return yield* hold.call(this, request);
  });
  jest.spyOn(Sys.prototype, "link").mockImplementation(function* (this: Sys, from, to) {
    if (to.endsWith("/last")) throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "link" });
    return yield* link.call(this, from, to);
  });
  const changes = [change, { op: "write", path: "g/h/last", content: "2" }];
  expect(await ground.fail("patch", { changes })).toMatchObject({ code: "IO_ERROR" });
  expect([ground.names(), ground.names("d")]).toEqual([left, []]);
});
