import { expect, test } from "@jest/globals";
import type { Caller } from "../../../src/core/call/caller.js";
import type { FileChange, PlaceWatch } from "../../../src/core/ports/changes/watch.js";
import { EventLog } from "../../../src/feed/event-log.js";
import { createEventBus } from "../../../src/venue/events/event-bus.js";
import { createVenueEvents } from "../../../src/venue/events/venue-events.js";

const FILES = { name: "files:docs", kind: "files", root: "docs", path: "" } as const;
const JOBS = { name: "job", kind: "job" } as const;
const alice: Caller = { did: "did:key:z6MkAlice", authentication: "identity", isOperator: false };

test("readers see alike that are of one caller, the same topics and the same roots as they are open", () => {
  const log = new EventLog();
  let ring = log.ring<FileChange>();
  let isThere = true;
  const place = (): PlaceWatch => ({
    ...{
      ring: ring.number,
      isComplete: true,
      ready: undefined,
      lookedSince: () => true,
      cursorAt: String,
      positionOf: Number,
    },
    ...{ read: () => [], hasLost: () => false, listen: () => () => {}, close: () => {} },
  });
  const events = createVenueEvents({
    ...{ log, bus: createEventBus(log), servesAnonymous: true, rejudge: (context) => context },
    watch: () => (isThere ? place() : undefined),
    sight: () => () => true,
  });
  const sightOf = (topics: Parameters<typeof events.open>[0], caller = alice) =>
    events.open(topics, caller, { callerDID: caller.did })?.sight;
  const first = sightOf([FILES, JOBS]);
  expect(sightOf([FILES, JOBS])).toBe(first);
  const others = [
    sightOf([FILES]),
    sightOf([{ ...FILES, name: "files:docs/a", path: "a" }, JOBS]),
    sightOf([FILES, JOBS], { ...alice, did: "did:key:z6MkBob" }),
    sightOf([FILES, JOBS], { ...alice, isOperator: true }),
  ];
  // After a reload the root is another one, then none.
  ring = log.ring();
  others.push(sightOf([FILES, JOBS]));
  isThere = false;
  others.push(sightOf([FILES, JOBS]));
  expect(new Set([first, ...others]).size).toBe(1 + others.length);
});
