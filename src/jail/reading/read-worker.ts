// Thread entry point of {@link ReadThread}.

import fs from "node:fs";
import { workerData } from "node:worker_threads";
import { loadCalls } from "../native/calls.js";
import { statOfOpen } from "../stat.js";
import { type BatchFolder, readBatch } from "./batch-reader.js";
import { NativeLoading } from "./native-loading.js";
import type { FileCalls } from "./read-regular.js";
import type { ReadRequest, ThreadData } from "./read-thread.js";
import { Slot } from "./slot.js";

const { port, memories, loading, descriptors } = workerData as ThreadData;
const slots = memories.map((memory) => new Slot(memory));

function quietly<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** For a thread that has no native calls. */
const nodeCalls: FileCalls = {
  open: (directory, name, flags) => quietly(() => fs.openSync(`/proc/self/fd/${directory}/${name}`, flags)),
  statOpen: (fd) => quietly(() => statOfOpen(fd)),
  reopen: (handle) =>
    quietly(() => fs.openSync(`/proc/self/fd/${handle}`, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)),
};

const calls = new NativeLoading(loading).load(() => loadCalls(descriptors)) ?? nodeCalls;

/** Answers requests by their number. Descriptors are shared by all threads of the process. */
port.on("message", (request: ReadRequest | null) => {
  if (request === null) return port.close();
  const { id, slot: index, maxBytes, folders } = request;
  const slot = slots[index];
  const found = folders.map(([fd, names]): BatchFolder => ({ fd, names: names.split("/") }));
  if (slot !== undefined) for (const _ of readBatch(calls, { folders: found, maxBytes }, slot));
  port.postMessage(id);
});
port.postMessage("ready");
