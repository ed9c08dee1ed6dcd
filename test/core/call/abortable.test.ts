import { expect, test } from "@jest/globals";
import { Aborter } from "../../../src/core/call/scope.js";

test("tells its listener once, and not one that was removed", () => {
  const heard: string[] = [];
  const first = new Aborter();
  first.addEventListener("abort", () => heard.push("first"));
  expect(first.aborted).toBe(false);
  first.abort();
  first.abort();
  const second = new Aborter();
  const listener = () => heard.push("second");
  second.addEventListener("abort", listener);
  second.removeEventListener("abort", listener);
  second.abort();
  expect([first.aborted, second.aborted, heard]).toEqual([true, true, ["first"]]);
});

test("refuses a second listener: it would be lost", () => {
  const aborter = new Aborter();
  aborter.addEventListener("abort", () => {});
  expect(() => aborter.addEventListener("abort", () => {})).toThrow("one listener");
});
