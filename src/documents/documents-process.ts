// Entry of the process that reads documents: a thread parses, while this one passes on its text and watches the memory of both.

import { Worker } from "node:worker_threads";
import { compiledFile } from "../core/package-files.js";
import type { FileRequest, Message } from "./messages.js";

/** Maximum memory of the process in bytes, by what it occupies: array buffers are outside every limit on heaps. */
const MAX_BYTES = 268_435_456;
/** A process that occupies more after a file reads no further one, which would have less than its share. */
const USED_BYTES = 134_217_728;
/** Heap limit of the thread in MB, which ends it before the process does. */
const HEAP_MB = 128;
const LOOK_MS = 5;
const LINE_FEED = 0x0a;

const thread = new Worker(compiledFile("documents/documents-thread"), {
  resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 16 },
  // Its output is not the answer.
  stdout: true,
  stderr: true,
});

thread.stdout.resume();
thread.stderr.resume();
thread.on("message", (message: Message) => {
  const isEnd = message.is === "end" || message.is === "fault";
  const isLast = isEnd && process.memoryUsage.rss() > USED_BYTES;
  pass(isLast ? { ...message, isLast } : message);
  if (isLast) stop();
});
// Its heap is full.
thread.on("error", stop);
thread.on("exit", stop);
setInterval(() => {
  if (process.memoryUsage.rss() > MAX_BYTES) stop();
}, LOOK_MS);

function pass(message: Message): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** The thread would go on until its next wait. */
function stop(): void {
  void thread.terminate();
  process.stdout.write("", () => process.exit(0));
}

/** The file that comes. */
let file: { readonly request: FileRequest; readonly bytes: Uint8Array; length: number } | undefined;
/** The begin of the line before a file. */
let line = Buffer.alloc(0);

/** @returns what belongs to the file that the line announces */
function announced(chunk: Buffer): Buffer {
  line = Buffer.concat([line, chunk]);
  const end = line.indexOf(LINE_FEED);
  if (end < 0) return Buffer.alloc(0);
  const rest = line.subarray(end + 1);
  const request = JSON.parse(line.toString("utf8", 0, end)) as FileRequest;
  // In one piece from the start: chunks put together later would occupy twice the size.
  file = { request, bytes: new Uint8Array(request.size), length: 0 };
  line = Buffer.alloc(0);
  return rest;
}

process.stdin.on("data", (chunk: Buffer) => {
  const part = file === undefined ? announced(chunk) : chunk;
  if (file === undefined) return;
  const { request, bytes } = file;
  bytes.set(part, file.length);
  file.length += part.length;
  if (file.length < request.size) return;
  file = undefined;
  thread.postMessage({ request, data: bytes }, [bytes.buffer as ArrayBuffer]);
});
process.stdin.on("end", () => {
  // A file that has become shorter; else nobody waits for an answer any more.
  if (file !== undefined) pass({ is: "fault", fault: "damaged", isLast: true });
  stop();
});
