import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, jest, test } from "@jest/globals";
import { NativeLoading } from "../../src/jail/reading/native-loading.js";

/** Is loading, and has loaded only once it has woken a thread that waits for this. */
const THREAD = `
  const { parentPort, workerData } = require("node:worker_threads");
  const state = new Int32Array(workerData);
  Atomics.store(state, 0, 1);
  parentPort.postMessage("loading");
  while (Atomics.notify(state, 0) === 0);
  Atomics.store(state, 0, 2);
  Atomics.notify(state, 0);
`;

test("who forbids loading waits until the thread has loaded", async () => {
  const loading = new NativeLoading();
  const thread = new Worker(THREAD, { eval: true, workerData: loading.memory });
  try {
    await once(thread, "message");
    loading.forbid();
    expect([...new Int32Array(loading.memory)]).toEqual([2]);
  } finally {
    await thread.terminate();
  }
});

test("a thread that has been forbidden to load does not; one that has loaded makes nobody wait", () => {
  const load = jest.fn(() => "loaded");
  const forbidden = new NativeLoading();
  forbidden.forbid();
  expect(new NativeLoading(forbidden.memory).load(load)).toBeUndefined();
  expect(load).not.toHaveBeenCalled();
  const loaded = new NativeLoading();
  expect(new NativeLoading(loaded.memory).load(load)).toBe("loaded");
  loaded.forbid();
  expect([...new Int32Array(loaded.memory)]).toEqual([2]);
});

test("a load that fails makes nobody wait either", () => {
  const loading = new NativeLoading();
  const fail = () => {
    throw new Error("no such module");
  };
  expect(() => loading.load(fail)).toThrow("no such module");
  loading.forbid();
  expect([...new Int32Array(loading.memory)]).toEqual([2]);
});
