#!/usr/bin/env node
// Drives, layer by layer, beside the bare work that cannot be avoided.
import { createHash, randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { hashOf } from "../dist/drive/index.js";
import { expectEqual } from "./expect.mjs";
import { describeMachine } from "./machine.mjs";
import { median } from "./measure.mjs";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const rounds = values.quick ? 1 : 7;

const CHUNK_BYTES = 4096;
/** A golden vector: 5 000 000 bytes, byte i = i mod 251. */
const KNOWN = { bytes: 5_000_000, hash: "be2c2bb2961a234e959f84f44bf9cf4e06953c3b08c5b9fc7fe2ac416570ab95" };

const verdict = (met) => (met ? "met" : "**missed**");

function timeMs(act) {
  const start = performance.now();
  act();
  return performance.now() - start;
}

/** SHA3-256 of each chunk, with none of the encodings. */
function hashChunks(content) {
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    createHash("sha3-256")
      .update(content.subarray(at, at + CHUNK_BYTES))
      .digest();
  }
}

/** Both in turn, so that what else the machine does meets both. */
function measureHashing(bytes) {
  const content = randomBytes(bytes);
  const [bare, ours] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(timeMs(() => hashChunks(content)));
    ours.push(timeMs(() => hashOf(content)));
  }
  return { bareMs: median(bare), oursMs: median(ours) };
}

function main() {
  const { load, ...machine } = describeMachine(".");
  const known = Uint8Array.from({ length: KNOWN.bytes }, (_, place) => place % 251);
  expectEqual(hashOf(known), KNOWN.hash, "The hash of a blob");
  const bytes = 100 * 2 ** 20;
  const { bareMs, oursMs } = measureHashing(bytes);
  const rows = [
    [
      `chunk and hash ${bytes / 2 ** 20} MiB`,
      `${Math.round(oursMs)} ms`,
      `bare SHA3-256 of the chunks ${Math.round(bareMs)} ms: ${(oursMs / bareMs).toFixed(2)}x`,
      "at most 1500 ms",
      verdict(oursMs <= 1500),
    ],
  ];
  const lines = [
    "# Performance of drives",
    "",
    `Measured by \`npm run bench:drive\`; medians of ${rounds} rounds, ours and the bare work in turn.`,
    "",
    `${machine.cores} cores (${machine.cpu}), ${machine.kernel}, Node ${machine.node}; load ${load.toFixed(1)} before.`,
    "",
    "| what | drive | beside | goal | |",
    "|---|---|---|---|---|",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

main();
