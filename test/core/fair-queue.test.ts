import { expect, test } from "@jest/globals";
import { FairQueue } from "../../src/core/turns.js";

/** A queue of items named after who sent them. */
function queueOf(...items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const item of items) queue.push(item[0], item);
  return queue;
}

function takeAll(queue: FairQueue<string>): string[] {
  const taken: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  return taken;
}

test("senders take turns, and what one sends keeps its order", () => {
  const queue = queueOf("a1", "a2", "a3", "b1", "c1", "c2");
  expect(queue.size).toBe(6);
  expect(takeAll(queue)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
  expect([queue.size, queue.take()]).toEqual([0, undefined]);
});

test("who comes while others wait is served after one of each", () => {
  const queue = queueOf("a1", "a2", "a3", "b1", "b2");
  expect(queue.take()).toBe("a1");
  queue.push("c", "c1");
  expect(takeAll(queue)).toEqual(["b1", "a2", "c1", "b2", "a3"]);
});

test("senders that may not go are passed over, and keep their places", () => {
  const queue = queueOf("a1", "b1", "a2", "b2");
  expect(queue.take((sender) => sender !== "a")).toBe("b1");
  expect(queue.take(() => false)).toBeUndefined();
  expect(queue.size).toBe(3);
  expect(takeAll(queue)).toEqual(["a1", "b2", "a2"]);
});

test("an item can be taken back while it waits, once", () => {
  const queue = queueOf("a1", "a2", "b1");
  expect([queue.remove("a", "a1"), queue.remove("a", "a1"), queue.remove("c", "c1")]).toEqual([true, false, false]);
  expect(queue.remove("b", "b1")).toBe(true);
  expect(queue.size).toBe(1);
  expect(takeAll(queue)).toEqual(["a2"]);
});

test("a sender without a name is one like the others", () => {
  const queue = queueOf("a1", "a2");
  queue.push(undefined, "x1");
  expect(takeAll(queue)).toEqual(["a1", "x1", "a2"]);
});
