import { expect, jest, test } from "@jest/globals";
import type { Caller } from "../../../src/core/call/caller.js";
import { systemClock } from "../../../src/core/clock.js";
import type { ObservedPlace } from "../../../src/core/ports/changes/observer.js";
import { PlaceFilter } from "../../../src/dispatch/place-filter.js";
import { RootFeed } from "../../../src/feed/change-feed.js";
import { EventLog } from "../../../src/feed/event-log.js";
import { createVenueEvents } from "../../../src/venue/events/venue-events.js";

const FILES = { name: "files:docs", kind: "files", root: "docs", path: "" } as const;
const JOBS = { name: "job", kind: "job" } as const;
const alice: Caller = { did: "did:key:z6MkAlice", authentication: "identity", isOperator: false };

/** Events of a venue with one root. `observed`: the places in it that are watched. */
function venueOf() {
  const log = new EventLog();
  const [observed, watched] = [[] as ObservedPlace[], { key: "docs" as string | undefined }];
  const observe = (place: ObservedPlace) => {
    observed.push(place);
    const close = () => void observed.splice(observed.indexOf(place), 1);
    return { ready: undefined, isComplete: true, isPolled: false, close };
  };
  const events = createVenueEvents(log, {
    ...{ servesAnonymous: true, rejudge: (context) => context },
    files: {
      watchPlace({ path = "" }) {
        if (path === "..") throw new Error("It leads out");
        if (watched.key === undefined) return undefined;
        const feed = new RootFeed(log, watched.key, systemClock, () => false);
        const place = { path: path === "" ? [] : [path], recursive: true };
        return new PlaceFilter({
          feed,
          place,
          ...{ top: [], mayRead: () => true },
          root: { backend: { observe } },
          binding: "",
          judge: () => () => true,
        });
      },
    },
  });
  const open = (topics: Parameters<typeof events.open>[0], caller = alice) =>
    events.open(topics, caller, { callerDID: caller.did });
  return { log, observed, watched, open };
}

test("readers see alike that are of one caller, the same topics and the same roots as they are open", () => {
  const { open, watched } = venueOf();
  const sightOf = (...args: Parameters<typeof open>) => open(...args)?.sight;
  const first = sightOf([FILES, JOBS]);
  expect(sightOf([FILES, JOBS])).toBe(first);
  const others = [
    sightOf([FILES]),
    sightOf([{ ...FILES, name: "files:docs/a", path: "a" }, JOBS]),
    sightOf([FILES, JOBS], { ...alice, did: "did:key:z6MkBob" }),
    sightOf([FILES, JOBS], { ...alice, isOperator: true }),
  ];
  // After a reload the root is another one, then none.
  watched.key = "drive";
  others.push(sightOf([FILES, JOBS]));
  watched.key = undefined;
  others.push(sightOf([FILES, JOBS]));
  expect(new Set([first, ...others]).size).toBe(1 + others.length);
});

test("a reader that could not be opened holds nothing: neither a place of its caller nor what is watched", () => {
  jest.useFakeTimers();
  try {
    const { open, observed } = venueOf();
    for (let tries = 0; tries < 65; tries += 1)
      expect(() => open([FILES, { ...FILES, name: "files:docs/..", path: ".." }])).toThrow("It leads out");
    jest.advanceTimersByTime(60_000);
    expect(observed).toEqual([]);
    const readers = Array.from({ length: 64 }, () => open([FILES]));
    expect([readers.includes(undefined), open([FILES])]).toEqual([false, undefined]);
    // Closed twice it counts once.
    for (let times = 0; times < 2; times += 1) readers[0]?.close();
    expect([open([FILES]) === undefined, open([FILES])]).toEqual([false, undefined]);
  } finally {
    jest.useRealTimers();
  }
});

test("places are watched on without readers, the last 256 of them, however many there were", () => {
  jest.useFakeTimers();
  try {
    const observed = new Set<string>();
    const observe = ({ path: [name = ""] }: ObservedPlace) => {
      observed.add(name);
      return { ready: undefined, isComplete: true, isPolled: false, close: () => void observed.delete(name) };
    };
    const feed = new RootFeed(new EventLog(), "docs", systemClock, () => false);
    const cover = (name: string) => feed.cover({ path: [name], recursive: false }, { backend: { observe } });
    const held = cover("held");
    for (let index = 0; index < 1000; index += 1) {
      cover(`${index}`).release();
      // One that is come back to stays.
      cover("again").release();
    }
    expect(observed.size).toBe(257);
    expect(["held", "again", "999", "745", "744"].map((name) => observed.has(name))).toEqual([
      ...[true, true, true, true],
      false,
    ]);
    held.release();
    expect([observed.size, observed.has("held")]).toEqual([256, true]);
    jest.advanceTimersByTime(60_000);
    expect(observed.size).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

test("a place is watched from when its reader may see something there, and what may have been missed is told", () => {
  const log = new EventLog();
  let [mayRead, watched] = [false, 0];
  const observe = () => {
    watched += 1;
    return { ready: undefined, isComplete: true, isPolled: false, close: () => {} };
  };
  const filter = new PlaceFilter({
    feed: new RootFeed(log, "docs", systemClock, () => false),
    place: { path: ["a"], recursive: false },
    ...{ top: [], binding: "", root: { backend: { observe } } },
    ...{ mayRead: () => mayRead, judge: () => () => mayRead },
  });
  const position = log.position;
  expect([filter.hasLost(position), watched]).toEqual([false, 0]);
  log.step();
  mayRead = true;
  expect([filter.hasLost(position), watched]).toEqual([true, 1]);
  expect([filter.hasLost(log.position), watched]).toEqual([false, 1]);
  filter.close();
});

test("none is opened once the log has ended", () => {
  const { log, open } = venueOf();
  const reader = open([FILES]);
  log.end();
  expect([reader?.isOver, open([FILES])]).toEqual([true, undefined]);
});
