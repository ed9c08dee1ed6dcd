#!/usr/bin/env node
// What it costs to decide whether a caller may do something, beside one bare check of a signature: all that happens between the path
// and the disk. Hostile requests come to a venue that has seen no token, from a caller with an identity, and stay within every limit.
import { sign, verify } from "node:crypto";
import { Authoriser } from "../dist/authz/authorise.js";
import { createAuthorities } from "../dist/authz/authorities.js";
import { readCaps } from "../dist/authz/caps-list.js";
import { createFileVerifier } from "../dist/authz/file-verifier.js";
import { createPublicKeys } from "../dist/ucan/verify/public-keys.js";
import { runBench, shown, times } from "./harness.mjs";
import { inTurns, median, percentile, spent, timed } from "./timing.mjs";
import { HOSTILE } from "./ucan/hostile.mjs";
import { caller, DOCS, NOW, owner, signer, token } from "./ucan/tokens.mjs";

const clock = { nowMs: () => NOW * 1000, monotonicMs: () => performance.now() };
const FILE = ["docs", "reports", "2026", "q1.md"];
const CAPS = ["a", "b", "c", "d", "e", "f", "docs/drafts", "docs"].map((path) => ({
  with: `file://${path}/`,
  can: "crud",
}));
const MAX_CHECKS = 32;
const MAX_HOSTILE_MS = 10;

/** Rights in one root, which has an owner, as they are after a start; and how often a signature was checked. */
function rights() {
  const keys = createPublicKeys();
  const counted = { checks: 0 };
  const of = (did) => {
    counted.checks++;
    return keys.of(did);
  };
  const verifier = createFileVerifier({ clock, keys: { of } });
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
  const list = { att: [{ with: "file://docs/reports/", can: "crud/read" }] };
  return token(worker, caller, { list, prf: [middle], nnc: number });
}

const message = Buffer.from(token(owner, caller));
const signature = sign(null, message, owner.privateKey);
/** One bare check of a signature. */
const bareCheck = () => verify(null, message, owner.publicKey, signature);

async function measureUseful({ quick, row }) {
  const rounds = quick ? 100 : 1000;
  const venue = rights();
  const known = asCaller([chain(0)]);
  const chains = Array.from({ length: rounds * 2 }, (_, number) => asCaller([chain(number + 1)])).values();
  /** Microseconds of one of so many calls that are timed as one. */
  const each = (calls, work) => async () => {
    const ms = await timed(() => {
      for (let call = 0; call < calls; call++) work();
    });
    return (ms * 1e3) / calls;
  };
  const forms = {
    bare: each(1, bareCheck),
    caps: each(100, () => decide(venue, {}, CAPS)),
    known: each(20, () => decide(venue, known)),
    cold: each(1, () => decide(venue, chains.next().value)),
  };
  await inTurns(Math.ceil(rounds / 4), forms);
  const found = await inTurns(rounds, forms);
  const bare = median(found.bare);
  const timeRow = (what, samples, value, most) => {
    const [middle, late] = [median(samples), percentile(samples, 95)].map((us) => shown(us, "µs"));
    const beside = `${middle}, p95 ${late}: ${times(median(samples) / bare)} of a bare check`;
    row({ what, value, unit: "µs", beside, most });
  };
  timeRow("bare `crypto.verify`", found.bare, bare);
  timeRow("caps-only check", found.caps, median(found.caps), 10);
  timeRow("chain of three, judged before", found.known, median(found.known), 50);
  timeRow("chain of three, new: p95", found.cold, percentile(found.cold, 95), 1500);
}

async function measureHostile({ quick, row }, what, tokens) {
  let checks = 0;
  let reasons = [];
  const attack = (venue) => {
    try {
      decide(venue, asCaller(tokens));
    } catch (error) {
      if (error.code !== "CAPABILITY_DENIED" && error.code !== "UNKNOWN_ROOT") throw error;
      reasons = error.data?.reasons ?? [];
      checks = venue.counted.checks;
      return;
    }
    throw new Error(`'${what}' was allowed`);
  };
  attack(rights());
  const forms = {
    attack() {
      const venue = rights();
      return spent(() => attack(venue));
    },
    bare: () =>
      spent(() => {
        for (let check = 0; check < checks; check++) bareCheck();
      }),
  };
  const rounds = quick ? 20 : 200;
  await inTurns(rounds / 2, forms);
  const found = await inTurns(rounds, forms);
  const bytes = tokens.reduce((sum, { length }) => sum + length, 0);
  const [bare, late] = [median(found.bare), percentile(found.attack, 95)].map((ms) => shown(ms, "ms"));
  const beside = `p95 ${late}; ${checks} checks, alone ${bare}; ${shown(bytes, "bytes")}; ${reasons.join(", ")}`;
  row({ what, value: median(found.attack), beside, most: checks <= MAX_CHECKS ? MAX_HOSTILE_MS : 0 });
}

await runBench([
  { name: "useful", run: measureUseful },
  ...Object.entries(HOSTILE).map(([name, makeTokens]) => ({
    name: `hostile: ${name}`,
    run: (context) => measureHostile(context, name, makeTokens()),
  })),
]);
