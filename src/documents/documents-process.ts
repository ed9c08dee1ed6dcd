// Entry of the process that reads documents: a thread parses, while this one watches the time and the memory of both.

import { Worker } from "node:worker_threads";
import type { DocumentFault, DocumentText, DocumentUnit } from "../core/call/documents.js";
import { compiledFile } from "../core/package-files.js";
import type { Facts, FileRequest, ProcessAnswer, ThreadMessage } from "./messages.js";

/** Maximum memory of the process in bytes, by what it occupies: array buffers are outside every limit on heaps. */
const MAX_BYTES = 268_435_456;
/** A process that occupies more after a file reads no further one, which would have less than its share. */
const USED_BYTES = 134_217_728;
/** Heap limit of the thread in MB, which ends it before the process does. */
const HEAP_MB = 128;
const LOOK_MS = 5;
const LINE_FEED = 0x0a;

/** A file that comes, or is read. */
interface Current {
  readonly request: FileRequest;
  /** In one piece from the start: chunks put together later would occupy twice the size. */
  readonly bytes: Uint8Array;
  readonly timer: NodeJS.Timeout;
  length: number;
  isGiven: boolean;
  facts: Facts;
  readonly parts: { readonly unit?: DocumentUnit; text: string }[];
}

let current: Current | undefined;
let isFirst = true;
/** The begin of the line before a file. */
let line = Buffer.alloc(0);
let isEnded = false;

const thread = new Worker(compiledFile("documents/documents-thread"), {
  resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 16 },
  // Its output is not the answer.
  stdout: true,
  stderr: true,
});

thread.stdout.resume();
thread.stderr.resume();
thread.on("message", (message: ThreadMessage) => current !== undefined && hear(message, current));
// Its heap is full.
thread.on("error", spent);
thread.on("exit", spent);
setInterval(() => {
  if (process.memoryUsage.rss() > MAX_BYTES) spent();
}, LOOK_MS);

function hear(message: ThreadMessage, { facts, parts }: Current): void {
  switch (message.is) {
    case "facts":
      if (current !== undefined) current.facts = { ...facts, ...message.facts };
      break;
    case "unit":
      parts.push({ unit: message.unit, text: "" });
      break;
    case "text": {
      const part = parts.at(-1);
      if (part === undefined) parts.push({ text: message.text });
      else part.text += message.text;
      break;
    }
    case "end":
      answer(message.ends === "spent" ? spentText({ facts, parts }) : { ...textOf(facts, parts), ends: message.ends });
      break;
    case "fault":
      answer({ fault: message.fault, peer: message.peer });
  }
}

const textOf = ({ kind = "pdf", count, meta = {} }: Facts, parts: DocumentText["parts"]): DocumentText => ({
  ...{ kind, count, meta, parts },
});

/** Time or memory is over: the thread would go on until its next wait, so the process ends. */
function spent(): void {
  if (current === undefined) process.exit(0);
  answer(spentText(current), true);
}

/** Text read before a bound was reached, if there is any. */
const spentText = ({ facts, parts }: Pick<Current, "facts" | "parts">): DocumentText | DocumentFault =>
  parts.some(({ text }) => text !== "") ? { ...textOf(facts, parts), ends: "spent" } : { fault: "spent" };

function answer(text: DocumentText | DocumentFault, isSpent = false): void {
  if (current === undefined) return;
  clearTimeout(current.timer);
  current = undefined;
  const isLast = isSpent || isEnded || process.memoryUsage.rss() > USED_BYTES;
  const said: ProcessAnswer = isLast ? { ...text, isLast } : text;
  if (isLast) void thread.terminate();
  process.stdout.write(`${JSON.stringify(said)}\n`, () => isLast && process.exit(0));
}

function begin(request: FileRequest): void {
  // The start counts too: the clock runs from the time origin of the process.
  const used = isFirst ? performance.now() : 0;
  isFirst = false;
  current = {
    ...{ request, bytes: new Uint8Array(request.size), length: 0, isGiven: false, facts: {}, parts: [] },
    timer: setTimeout(spent, Math.max(0, request.withinMs - used)),
  };
}

function give(file: Current): void {
  file.isGiven = true;
  const data = file.bytes.subarray(0, file.length);
  thread.postMessage({ request: file.request, data }, [file.bytes.buffer as ArrayBuffer]);
}

/** @returns what belongs to the file that the line announces */
function announced(chunk: Buffer): Buffer {
  line = Buffer.concat([line, chunk]);
  const end = line.indexOf(LINE_FEED);
  if (end < 0) return Buffer.alloc(0);
  const rest = line.subarray(end + 1);
  begin(JSON.parse(line.toString("utf8", 0, end)) as FileRequest);
  line = Buffer.alloc(0);
  return rest;
}

process.stdin.on("data", (chunk: Buffer) => {
  const bytes = current === undefined ? announced(chunk) : chunk;
  if (current === undefined || current.isGiven) return;
  const part = bytes.subarray(0, current.request.size - current.length);
  current.bytes.set(part, current.length);
  current.length += part.length;
  if (current.length === current.request.size) give(current);
});
process.stdin.on("end", () => {
  isEnded = true;
  // A file that has become shorter, or none.
  if (current === undefined) process.exit(0);
  else if (!current.isGiven) give(current);
});
