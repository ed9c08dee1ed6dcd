// Thread entry point of {@link ReadThread}.

import { workerData } from "node:worker_threads";
import { loadCalls } from "../native/calls.js";
import { type BatchFolder, readBatch } from "./batch-reader.js";
import type { ReadRequest, ThreadData } from "./read-thread.js";
import { Slot } from "./slot.js";

const { port, memories, descriptors } = workerData as ThreadData;
const slots = memories.map((memory) => new Slot(memory));
const calls = loadCalls(descriptors);

/** Answers requests by their number. Descriptors are shared by all threads of the process. */
if (calls !== undefined) {
  port.on("message", ({ id, slot: index, maxBytes, folders }: ReadRequest) => {
    const slot = slots[index];
    const found = folders.map(([fd, names]): BatchFolder => ({ fd, names: names.split("/") }));
    if (slot !== undefined) for (const _ of readBatch(calls, { folders: found, maxBytes }, slot));
    port.postMessage(id);
  });
  port.postMessage("ready");
}
