// Two changes that make the same directories.
import { afterEach, expect, jest, test } from "@jest/globals";
import { deferred } from "../../../src/core/turns.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { Sys } from "../../../src/jail/sys.js";
import { useGround } from "../../ops/ground.js";

// Between two system calls of one change others have their turn.
const ground = useGround({ root: { io: "pool" } });
afterEach(() => {
  jest.restoreAllMocks();
});

test.each(["write", "copy"] as const)("a %s that fails takes no directory from one that waits for it", async (how) => {
  ground.put("source", "1");
  const { link } = Sys.prototype;
  const { hold } = Locks.prototype;
  const [isReached, isWaitedFor, hasFailed] = [deferred(), deferred(), deferred()];
  jest.spyOn(Locks.prototype, "hold").mockImplementation(function* (this: Locks, request) {
    const holding = hold.call(this, request);
    const step = holding.next();
    if (step.done === true) {
      isReached.resolve();
      yield isWaitedFor.promise;
      return step.value;
    }
    isWaitedFor.resolve();
    yield step.value;
    return yield* holding;
  });
  jest.spyOn(Sys.prototype, "link").mockImplementation(function* (this: Sys, from, to) {
    if (to.endsWith("/first")) throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "link" });
    if (to.endsWith("/second")) yield hasFailed.promise;
    return yield* link.call(this, from, to);
  });
  const first =
    how === "write"
      ? ground.fail("write", { path: "a/b/first", content: "1", parents: true })
      : ground.fail("copy", { path: "source", to: "a/b/first", parents: true });
  await isReached.promise;
  const second = ground.run("write", { path: "a/c/second", content: "2", parents: true });
  expect(await first).toMatchObject({ code: "IO_ERROR" });
  hasFailed.resolve();
  expect(await second).toMatchObject({ created: true });
  expect([ground.names("a"), ground.names("a/c")]).toEqual([["c"], ["second"]]);
});
