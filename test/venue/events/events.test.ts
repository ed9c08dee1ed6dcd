import { afterEach, describe, expect, jest, test } from "@jest/globals";
import type { Caller } from "../../../src/core/call/caller.js";
import { systemClock } from "../../../src/core/clock.js";
import type { ObservedPlace } from "../../../src/core/ports/changes/observer.js";
import { PlaceFilter } from "../../../src/dispatch/place-filter.js";
import { RootFeed } from "../../../src/feed/change-feed.js";
import { EventLog } from "../../../src/feed/event-log.js";
import { createVenueEvents } from "../../../src/venue/events/venue-events.js";
import { send } from "../../surfaces/http/client.js";
import { accessOf } from "../operations/access-calls.js";
import { ALL, approvalsOf, asked, WRITE } from "../operations/approval/approval-calls.js";
import { useGround } from "../operations/fixture.js";

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
  const sightOf = (...args: Parameters<typeof open>) => open(...args).sight;
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
    const tooMany = expect.objectContaining({ isClosing: false, retryAfterMs: 5000 });
    expect(() => open([FILES])).toThrow(tooMany);
    // Closed twice it counts once.
    for (let times = 0; times < 2; times += 1) readers[0]?.close();
    open([FILES]);
    expect(() => open([FILES])).toThrow(tooMany);
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
  expect(reader.isOver).toBe(true);
  expect(() => open([FILES])).toThrow(expect.objectContaining({ isClosing: true }));
});

// Who sees which events, beside what the lists of the same things show.
describe("what a caller sees", () => {
  const ground = useGround();
  const { issue } = accessOf(ground);
  const { open, decide } = approvalsOf(ground);
  const STAT = { root: "docs", path: "sub/a.txt" };

  let end = new AbortController();
  afterEach(() => {
    end.abort();
    end = new AbortController();
  });

  type Data = Readonly<Record<string, unknown>>;

  /** Follows topics. @returns reads up to the event that is looked for, and gives all until then */
  async function follow(
    bearer: string,
    ...topics: string[]
  ): Promise<(isLast: (data: Data) => boolean) => Promise<Data[]>> {
    const url = `${ground.venue.url}/api/v1/events?${topics.map((topic) => `topic=${topic}`).join("&")}`;
    const { body } = await send(url, { token: bearer, signal: end.signal });
    const chunks = body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    let text = "";
    return async (isLast) => {
      for (;;) {
        const whole = text.slice(0, text.lastIndexOf("\n\n") + 2);
        const seen = [...whole.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as Data);
        if (seen.some(isLast)) return seen;
        const chunk = await chunks?.next();
        if (chunk?.done !== false) throw new Error(`The stream has ended: ${text}`);
        text += chunk.value;
      }
    };
  }

  describe("events of approvals", () => {
    const approver = { with: "file://docs/", can: "approve" };

    test("are told to everybody who may decide, as long as they may, and to nobody else", async () => {
      await open();
      const agent = await issue({ label: "agent", caps: [ALL] });
      const holder = await issue({ label: "approver", caps: [approver] });
      const elsewhere = await issue({ label: "elsewhere", caps: [{ with: "file://tmp/", can: "approve" }] });
      const everything = await issue({ label: "all but that", caps: [{ with: "file://", can: "*" }] });
      const deciding = await follow(holder.token, "approval");
      const asking = await follow(agent.token, "approval");
      // Each of them does something of its own at the end, which would come after what it must not see.
      const others = await Promise.all([elsewhere, everything].map(({ token }) => follow(token, "approval", "job")));
      const { approvalId: id } = asked(await ground.call("file:write", WRITE, { bearer: agent.token }));
      const isIt = (state: string) => (data: Data) => data["id"] === id && data["state"] === state;
      expect(await deciding(isIt("pending"))).toMatchObject([{ effect: [{ root: "docs", path: "sub/a.txt" }] }]);
      await decide(id, { bearer: holder.token });
      await asking(isIt("once"));
      await deciding(isIt("once"));
      for (const [index, { token }] of [elsewhere, everything].entries()) {
        const { id: job } = await ground.call("file:stat", STAT, { bearer: token });
        const seen = await others[index]?.((data) => data["id"] === job);
        expect(seen?.filter(({ state }) => state !== undefined)).toEqual([]);
      }
    });

    test("are told to whoever the configuration or a UCAN lets decide", async () => {
      await ground.open({
        auth: { grants: [{ did: ground.bob.did, ...approver }] },
        file: { roots: { docs: { path: "docs", approve: { for: ["all"] } } } },
      });
      const agent = await issue({ label: "agent", caps: [ALL] });
      const { token } = await ground.key.grant(ground.carol, [approver]);
      const bearer = (await ground.carol.grant(ground.venue, [approver], { proofs: [token] })).token;
      const followers = await Promise.all([
        follow((await issue({ label: "bob" }, { as: ground.bob })).token, "approval"),
        follow(bearer, "approval"),
      ]);
      const { approvalId: id } = asked(await ground.call("file:write", WRITE, { bearer: agent.token }));
      for (const next of followers) expect(await next((data) => data["id"] === id)).toHaveLength(1);
    });
  });

  describe("events of the audit, of tokens and of jobs", () => {
    test("are not told to a UCAN that narrows its DID, but for those of its own jobs", async () => {
      await ground.open({ auth: { grants: [{ did: ground.bob.did, with: "file://docs/", can: "crud" }] } });
      const narrow = (await ground.bob.grant(ground.venue, [{ with: "file://docs/sub/", can: "crud/read" }])).token;
      const whole = (await issue({ label: "page" }, { as: ground.bob })).token;
      expect(await ground.call("audit:query", {}, { bearer: narrow })).toMatchObject({
        errorCode: "CAPABILITY_DENIED",
      });
      const [narrowed, inFull] = [
        await follow(narrow, "audit", "auth", "job"),
        await follow(whole, "audit", "auth", "job"),
      ];
      const issued = await issue({ label: "another", caps: [ALL] }, { as: ground.bob });
      await ground.call("file:stat", { root: "docs", path: "sub" }, { as: ground.bob });
      const { id: others } = await ground.call("file:read", STAT, { as: ground.bob });
      const { id: job } = await ground.call("file:stat", STAT, { bearer: narrow });
      const isDone = (data: Data) => data["id"] === job && data["status"] === "COMPLETE";
      const seenInFull = await inFull(isDone);
      expect(seenInFull.some(({ id, change }) => id === issued.id && change === "issued")).toBe(true);
      expect(seenInFull.some(({ outcome }) => outcome === "OK")).toBe(true);
      const seen = await narrowed(isDone);
      expect(seen.filter((data) => "outcome" in data || "change" in data)).toEqual([]);
      expect(seenInFull.some(({ id }) => id === others)).toBe(true);
      expect(new Set(seen.map(({ id }) => id))).toEqual(new Set([job]));
    });

    test("are told to an access token of itself alone", async () => {
      await ground.open({ auth: { grants: [{ did: ground.bob.did, with: "file://docs/", can: "crud" }] } });
      const { token, did } = await issue({ label: "agent", caps: [ALL] }, { as: ground.bob });
      const own = await follow(token, "audit");
      await ground.call("file:stat", STAT, { as: ground.bob });
      await ground.call("file:stat", STAT, { bearer: token });
      const seen = await own(({ operation }) => operation === "file:stat");
      expect(new Set(seen.map(({ caller }) => caller))).toEqual(new Set([did]));
    });
  });
});
