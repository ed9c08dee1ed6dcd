// Thread entry point of {@link ReadThread}.

import fs from "node:fs";
import { workerData } from "node:worker_threads";
import { statOfOpen } from "../stat.js";
import { type BatchFolder, readBatch } from "./batch-reader.js";
import type { FileCalls } from "./read-regular.js";
import type { ReadRequest, ThreadData } from "./read-thread.js";
import { Slot } from "./slot.js";

const { port, memories } = workerData as ThreadData;
const slots = memories.map((memory) => new Slot(memory));

function quietly<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** Calls of Node: a thread that is ended while it loads a native module takes the process with it. */
const calls: FileCalls = {
  open: (directory, name, flags) => quietly(() => fs.openSync(`/proc/self/fd/${directory}/${name}`, flags)),
  statOpen: (fd) => quietly(() => statOfOpen(fd)),
  reopen: (handle) =>
    quietly(() => fs.openSync(`/proc/self/fd/${handle}`, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)),
};

/** Answers requests by their number. Descriptors are shared by all threads of the process. */
port.on("message", ({ id, slot: index, maxBytes, folders }: ReadRequest) => {
  const slot = slots[index];
  const found = folders.map(([fd, names]): BatchFolder => ({ fd, names: names.split("/") }));
  if (slot !== undefined) for (const _ of readBatch(calls, { folders: found, maxBytes }, slot));
  port.postMessage(id);
});
port.postMessage("ready");
