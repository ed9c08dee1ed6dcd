#!/usr/bin/env node
// What it costs to decide whether a caller may do something, beside one bare check of a signature.
import { sign, verify } from "node:crypto";
import { parseArgs } from "node:util";
import { Authoriser } from "../dist/authz/authorise.js";
import { createAuthorities } from "../dist/authz/authorities.js";
import { readCaps } from "../dist/authz/caps-list.js";
import { createFileVerifier } from "../dist/authz/file-verifier.js";
import { createPublicKeys } from "../dist/ucan/verify/public-keys.js";
import { describeMachine } from "./machine.mjs";
import { hostileRequests } from "./ucan/hostile.mjs";
import { processorTime, timed } from "./ucan/measure.mjs";
import { caller, DOCS, NOW, owner, signer, token } from "./ucan/tokens.mjs";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const rounds = values.quick ? 100 : 1000;

const clock = { nowMs: () => NOW * 1000, monotonicMs: () => performance.now() };
const FILE = ["docs", "reports", "2026", "q1.md"];
const CAPS = ["a", "b", "c", "d", "e", "f", "docs/drafts", "docs"].map((path) => ({
  with: `file://${path}/`,
  can: "crud",
}));

/** Rights in one root, which has an owner, as they are after a start; and how often a signature was checked. */
function rights() {
  const keys = createPublicKeys();
  const counted = { checks: 0 };
  const verifier = createFileVerifier({
    clock,
    keys: {
      of(did) {
        counted.checks++;
        return keys.of(did);
      },
    },
  });
  const rules = { venueDid: "did:web:venue.example", operator: "did:web:venue.example", verifier };
  return { counted, authorities: createAuthorities(rules, [{ name: "docs", owner: owner.did }]) };
}

/** What the dispatcher does between the path and the disk. */
function decide({ authorities }, context, caps) {
  const authority = authorities.of(context);
  new Authoriser({ operation: "file:read", caps: [readCaps(caps)], authority }).require(FILE, "crud/read");
}

const asCaller = (ucans) => ({ callerDID: caller.did, authentication: "identity", ucans });

/** @returns a token for the caller with two more below it, the last of the owner; all different by `number` */
function chain(number) {
  const [lead, worker] = [signer(10), signer(11)];
  const root = token(owner, lead, { nnc: number });
  const middle = token(lead, worker, { list: { att: [{ ...DOCS, can: "crud/read" }] }, prf: [root], nnc: number });
  return token(worker, caller, {
    list: { att: [{ with: "file://docs/reports/", can: "crud/read" }] },
    prf: [middle],
    nnc: number,
  });
}

/** One bare check of a signature. */
function bareCheck() {
  const message = Buffer.from(token(owner, caller));
  const signature = sign(null, message, owner.privateKey);
  return () => verify(null, message, owner.publicKey, signature);
}

function measureUseful() {
  const venue = rights();
  const caps = timed(() => decide(venue, {}, CAPS), { rounds, batch: 100 });
  const known = asCaller([chain(0)]);
  const warm = timed(() => decide(venue, known), { rounds, batch: 20 });
  const contexts = Array.from({ length: rounds * 2 }, (_, number) => asCaller([chain(number + 1)]));
  const next = contexts.values();
  const cold = timed(() => decide(venue, next.next().value), { rounds });
  return { caps, warm, cold };
}

function measureHostile(bare) {
  return hostileRequests().map(([name, tokens]) => {
    let reasons = [];
    let checks = 0;
    const run = (venue) => {
      try {
        decide(venue, asCaller(tokens));
      } catch (error) {
        if (error.code !== "CAPABILITY_DENIED" && error.code !== "UNKNOWN_ROOT") throw error;
        reasons = error.data?.reasons ?? [];
        checks = venue.counted.checks;
        return;
      }
      throw new Error(`'${name}' was allowed`);
    };
    const bytes = tokens.reduce((sum, { length }) => sum + length, 0);
    const bareChecks = () => {
      for (let check = 0; check < checks; check++) bare();
    };
    const times = processorTime(run, bareChecks, { rounds: rounds / 5, prepare: rights });
    return { name, bytes, times, checks, reasons };
  });
}

const verdict = (met) => (met ? "met" : "**missed**");
const microseconds = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} µs`;

const machine = describeMachine(".");
const bareRun = bareCheck();
const bare = timed(bareRun, { rounds });
const { caps, warm, cold } = measureUseful();
const hostile = measureHostile(bareRun);
const times = ({ median }) => `${(median / bare.median).toFixed(2)}x`;
const rows = [
  ["bare `crypto.verify`", microseconds(bare.median), microseconds(bare.p95), "1x", "", ""],
  [
    "caps-only check",
    microseconds(caps.median),
    microseconds(caps.p95),
    times(caps),
    "at most 10 µs",
    verdict(caps.median <= 10),
  ],
  [
    "chain of three, judged before",
    microseconds(warm.median),
    microseconds(warm.p95),
    times(warm),
    "at most 50 µs",
    verdict(warm.median <= 50),
  ],
  [
    "chain of three, new",
    microseconds(cold.median),
    microseconds(cold.p95),
    times(cold),
    "p95 at most 1.5 ms",
    verdict(cold.p95 <= 1500),
  ],
];
const hostileRows = hostile.map(({ name, bytes, times: { run, beside }, checks, reasons }) => [
  name,
  `${bytes}`,
  `${checks}`,
  `${beside.median.toFixed(1)} ms`,
  `${run.median.toFixed(1)} ms`,
  `${run.p95.toFixed(1)} ms`,
  verdict(checks <= 32 && run.median <= 10),
  reasons.map((reason) => `\`${reason}\``).join(" "),
]);
const lines = [
  "# Performance of capabilities",
  "",
  "All pages of figures: [performance.md](performance.md).",
  "",
  "Fast: a chain that was judged before costs microseconds. Not fast: the first look at a chain costs a check of a signature for each link.",
  "",
  "What it costs to decide whether a caller may do something, measured by `npm run bench:ucan`, which prints this page. It is",
  "all that happens between the path and the disk: reading caps and tokens, judging them, and the denial. A chain judged before",
  "is still held against time, revocation, owner and its links. Hostile requests come to a venue that has seen no token, from a",
  "caller with an identity; they stay within every limit, may cost 32 signature checks and 10 ms of processor time (all threads,",
  "the collector's, too), and are denied.",
  "",
  `${machine.cores} cores (${machine.cpu}), ${machine.kernel}, Node ${machine.node}; load ${machine.load.toFixed(1)} before.`,
  "",
  "| what | median | p95 | beside a bare check | target | |",
  "|---|---|---|---|---|---|",
  ...rows.map((row) => `| ${row.join(" | ")} |`),
  "",
  "| hostile request | bytes | signature checks | so many bare ones | median | p95 | | reasons of the denial |",
  "|---|---|---|---|---|---|---|---|",
  ...hostileRows.map((row) => `| ${row.join(" | ")} |`),
];
process.stdout.write(`${lines.join("\n")}\n`);
