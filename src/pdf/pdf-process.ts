// Entry of the process that reads one PDF: a thread parses, while this one watches the time and the memory of both.

import { Worker } from "node:worker_threads";
import { compiledFile } from "../core/package-files.js";
import type { PdfBounds, ProcessAnswer, ThreadMessage } from "./messages.js";

/** Maximum memory of the process in bytes, by what it occupies: array buffers are outside every limit on heaps. */
const MAX_BYTES = 268_435_456;
/** Heap limit of the thread in MB, which ends it before the process does. */
const HEAP_MB = 128;
const LOOK_MS = 5;

const { size, maxBytes, withinMs } = JSON.parse(process.argv[2] ?? "") as PdfBounds;

const pages: string[] = [];
let count = 0;
let isAnswered = false;

const thread = new Worker(compiledFile("pdf/pdf-thread"), {
  workerData: { maxBytes },
  resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 16 },
  // Its output is not the answer.
  stdout: true,
  stderr: true,
});

thread.stdout.resume();
thread.stderr.resume();

function answer(more: Pick<ProcessAnswer, "isMissing" | "isSpent">): void {
  if (isAnswered) return;
  isAnswered = true;
  const text = JSON.stringify({ count, pages, ...more } satisfies ProcessAnswer);
  // The thread would go on until its next wait.
  void thread.terminate();
  process.stdout.write(text, () => process.exit(0));
}

const spent = (): void => answer({ isSpent: true });

thread.on("message", (message: ThreadMessage) => {
  if (message.kind !== "page") {
    answer(message.kind === "missing" ? { isMissing: true } : {});
    return;
  }
  pages.push(message.text);
  count = message.count;
});
// Its heap is full.
thread.on("error", spent);
thread.on("exit", spent);

// The start counts too: the clock runs from the time origin of the process.
setTimeout(spent, Math.max(0, withinMs - performance.now()));
setInterval(() => {
  if (process.memoryUsage.rss() > MAX_BYTES) spent();
}, LOOK_MS);

// In one piece from the start: chunks put together later would occupy twice the size.
const file = new Uint8Array(size);
let length = 0;
process.stdin.on("data", (chunk: Buffer) => {
  const part = chunk.subarray(0, size - length);
  file.set(part, length);
  length += part.length;
});
process.stdin.on("end", () => {
  const data = file.subarray(0, length);
  thread.postMessage(data, [file.buffer]);
});
