import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { FileOutputs } from "../../src/schema/types.js";
import { useGround } from "./ground.js";

type Watched = FileOutputs["file:watch"];

const EVERYTHING = { with: "file://", can: "*" };
const on = useGround({ root: { deny: ["secret"] }, publicCaps: [EVERYTHING], limits: { maxConcurrent: 2 } });

const shown = ({ events }: Watched) =>
  events.map(({ type, path, from, origin }) =>
    [type, path, from, origin === "external" ? origin : ""].join(" ").trim(),
  );

/** A cursor from which on nothing but the test's own changes is told: a directory made last has been told, then nothing more. */
async function start(input: object = {}): Promise<string> {
  let { cursor } = await on.run("watch", {});
  const last = `made-last-${randomUUID()}`;
  mkdirSync(join(on.dir, last));
  for (let isTold = false; !isTold; ) {
    const answer = await on.run("watch", { cursor, waitMs: 2000 });
    isTold = answer.events.some(({ path }) => path === last);
    cursor = answer.cursor;
  }
  let { cursor: after, events } = await on.run("watch", input);
  do ({ cursor: after, events } = await on.run("watch", { ...input, cursor: after, waitMs: 100 }));
  while (events.length > 0);
  return after;
}

/** Polls until so many events have come. */
/** @param isLate whether an event is of what was prepared before the cursor: the system may tell it behind */
async function eventsAfter(
  cursor: string,
  count: number,
  input: object = {},
  isLate: (event: string) => boolean = () => false,
): Promise<string[]> {
  const found: string[] = [];
  for (let next = cursor; found.length < count; ) {
    const answer = await on.run("watch", { cursor: next, waitMs: 30_000, ...input });
    if (answer.events.length === 0) throw new Error(`nothing more came after: ${found.join(", ")}`);
    found.push(...shown(answer).filter((event) => !isLate(event)));
    next = answer.cursor;
  }
  return found;
}

describe("watch where nothing tells of changes, so that they are looked for", () => {
  const polled = useGround({ root: { io: "pool" }, publicCaps: [EVERYTHING] });

  test("is complete for the time since its cursor only once all was looked at since", async () => {
    polled.put("sub/old", "");
    const first = await polled.run("watch", {});
    writeFileSync(join(polled.dir, "sub/new"), "1");
    const early = await polled.run("watch", { cursor: first.cursor });
    expect(early).toMatchObject({ events: [], complete: false, reason: "visited" });
    const events: string[] = [];
    let answer: Watched = early;
    for (const end = Date.now() + 30_000; !answer.complete && Date.now() < end; ) {
      answer = (await polled.run("watch", { cursor: first.cursor, waitMs: 500 })) as Watched;
      if (answer.complete) events.push(...shown(answer));
    }
    expect([answer.complete, events]).toEqual([true, ["created sub/new  external"]]);
    // The next cursor begins a time of its own.
    expect(await polled.run("watch", { cursor: answer.cursor })).toMatchObject({ events: [], complete: false });
  });
});

describe("watch", () => {
  test("tells of a time that was set, as a change of this venue", async () => {
    on.put("dated.txt", "1");
    const cursor = await start();
    await on.run("touch" as "write", { path: "dated.txt", modified: 1_000_000_000_000 } as never, { isInternal: true });
    expect((await on.run("watch", { cursor })).events).toEqual([
      { type: "modified", path: "dated.txt", entryType: "file", origin: "adapter" },
    ]);
  });

  test("answers with a cursor at once, then with what changed since", async () => {
    await start();
    const first = await on.run("watch", {});
    expect(first).toEqual({
      events: [],
      cursor: expect.stringMatching(/^[\w-]{22}$/),
      overflow: false,
      complete: true,
    });
    await on.run("write", { path: "sub/a.txt", content: "1", parents: true });
    await on.run("move", { path: "sub/a.txt", to: "b.txt" });
    const { events, cursor } = await on.run("watch", { cursor: first.cursor });
    expect(events).toEqual([
      { type: "created", path: "sub", entryType: "directory", origin: "adapter" },
      { type: "created", path: "sub/a.txt", entryType: "file", etag: "nodle477", origin: "adapter" },
      { type: "moved", path: "b.txt", from: "sub/a.txt", entryType: "file", origin: "adapter" },
    ]);
    expect((await on.run("watch", { cursor })).events).toEqual([]);
  });

  test("tells of each change once, and not again as a change of others", async () => {
    for (const name of ["copied", "moved", "deleted", "edited"]) on.put(`${name}/f`, "o");
    const changes = [
      ["write", { path: "w", content: "1" }, ["created w"]],
      ["append", { path: "ww", content: "1" }, ["created ww"]],
      ["mkdir", { path: "d/e", parents: true }, ["created d", "created d/e"]],
      ["copy", { path: "copied", to: "copy", recursive: true }, ["created copy"]],
      ["move", { path: "moved", to: "new" }, ["moved new moved"]],
      ["delete", { path: "deleted", recursive: true }, ["deleted deleted"]],
      ["edit", { path: "edited/f", oldText: "o", newText: "n" }, ["modified edited/f"]],
    ] as const;
    let cursor = await start();
    for (const [name, input, events] of changes) {
      await on.run(name as "write", input);
      const told = await on.run("watch", { cursor, waitMs: 30_000 });
      expect([name, ...shown(told)]).toEqual([name, ...events]);
      cursor = told.cursor;
    }
    expect(shown(await on.run("watch", { cursor, waitMs: 250 }))).toEqual([]);
  });

  test("waits for the first change, and answers as it comes", async () => {
    const cursor = await start();
    // As long as a test may take: an answer at the end of the wait would be too late.
    const waiting = on.run("watch", { cursor, waitMs: 30_000 });
    await on.run("stat", { path: "a" });
    await on.run("write", { path: "waited", content: "1" });
    expect(shown(await waiting)).toEqual(["created waited"]);
  });

  test("keeps to the path, and to its own directory unless it is recursive", async () => {
    on.put("top/sub/a", "");
    const all = await start({ path: "top" });
    const flat = await start({ path: "top", recursive: false });
    const file = await start({ path: "top/sub/a" });
    for (const path of ["other", "top/b", "top/sub/c", "top/sub/a", "topping"])
      await on.run("write", { path, content: "" });
    expect(await eventsAfter(all, 3, { path: "top" })).toEqual([
      "created top/b",
      "created top/sub/c",
      "modified top/sub/a",
    ]);
    expect(await eventsAfter(flat, 1, { path: "top", recursive: false })).toEqual(["created top/b"]);
    expect(await eventsAfter(file, 1, { path: "top/sub/a" })).toEqual(["modified top/sub/a"]);
  });

  test("tells of half a move where only one half is in the place", async () => {
    on.put("in/a", "");
    on.put("out/b", "");
    const cursor = await start({ path: "in" });
    await on.run("move", { path: "in/a", to: "out/a" });
    await on.run("move", { path: "out/b", to: "in/b" });
    expect(await eventsAfter(cursor, 2, { path: "in" })).toEqual(["deleted in/a", "created in/b"]);
  });

  test("overflows where a directory above the place is replaced", async () => {
    on.put("above/place/a", "");
    const cursor = await start({ path: "above/place" });
    await on.run("move", { path: "above", to: "elsewhere" });
    const answer = await on.run("watch", { path: "above/place", cursor });
    expect(answer).toMatchObject({ events: [], overflow: true, hint: expect.stringContaining("list again") });
    expect(await on.run("watch", { path: "above/place", cursor: answer.cursor })).toMatchObject({ overflow: false });
  });

  test("cuts at its limit, and goes on from the cursor", async () => {
    const cursor = await start();
    for (const path of ["1", "2", "3"]) await on.run("write", { path, content: "" });
    const first = await on.run("watch", { cursor, limit: 2 });
    expect(first).toMatchObject({ events: [{ path: "1" }, { path: "2" }], complete: false, reason: "limit" });
    expect(await on.run("watch", { cursor: first.cursor, limit: 2 })).toMatchObject({
      ...{ events: [{ path: "3" }], complete: true },
    });
  });

  test("overflows for a cursor of another start", async () => {
    expect(await on.run("watch", { cursor: "A".repeat(22) })).toMatchObject({ events: [], overflow: true });
  });

  test.each([
    ["a made-up cursor", {}, { cursor: "1" }],
    ["the cursor of another path", {}, { path: "sub" }],
    ["the cursor of another depth", {}, { recursive: false }],
  ])("refuses %s", async (_what, first, second) => {
    on.mkdir("sub");
    const { cursor } = await on.run("watch", first);
    expect(await on.fail("watch", { cursor, ...second })).toMatchObject({
      ...{ code: "INVALID_INPUT", data: { pointer: "/cursor" } },
    });
  });

  test("refuses the cursor of another caller", async () => {
    const { cursor } = await on.run("watch", {}, { callerDID: "did:key:alice" });
    expect((await on.fail("watch", { cursor }, { callerDID: "did:key:bob" })).code).toBe("INVALID_INPUT");
  });

  test("of what is not there is NOT_FOUND, but with a cursor its end is told", async () => {
    expect((await on.fail("watch", { path: "none" })).code).toBe("NOT_FOUND");
    on.put("going", "");
    const cursor = await start({ path: "going" });
    await on.run("delete", { path: "going" });
    expect(await eventsAfter(cursor, 1, { path: "going" })).toEqual(["deleted going"]);
  });

  test("judges rights when it tells: by caps, and by what is denied", async () => {
    on.mkdir("open");
    on.mkdir("closed");
    const all = { cursor: await start() };
    const caps = [{ with: "file://r/open/", can: "crud/read" }];
    const some = await on.run("watch", { path: "open" }, { callerDID: "did:key:a", caps });
    for (const path of ["open/a", "closed/a"]) await on.run("write", { path, content: "" });
    await on.run("move", { path: "closed/a", to: "open/b" });
    writeFileSync(join(on.dir, "secret"), "");
    expect(await eventsAfter(all.cursor, 3)).toEqual(["created open/a", "created closed/a", "moved open/b closed/a"]);
    const input = { path: "open", cursor: some.cursor };
    expect(shown(await on.run("watch", input, { callerDID: "did:key:a", caps }))).toEqual([
      ...["created open/a", "created open/b"],
    ]);
    expect((await on.fail("watch", input, { callerDID: "did:key:a", caps: [] })).code).toBe("CAPABILITY_DENIED");
  });

  test("follows a link to what is behind it, within the caller's rights", async () => {
    on.put("real/a", "");
    symlinkSync("real", join(on.dir, "link"));
    const cursor = await start({ path: "link" });
    await on.run("write", { path: "real/a", content: "1" });
    expect(await eventsAfter(cursor, 1, { path: "link" })).toEqual(["modified real/a"]);
    const caps = [{ with: "file://r/link/", can: "crud/read" }];
    expect((await on.fail("watch", { path: "link" }, { caps })).code).toBe("CAPABILITY_DENIED");
  });

  test("takes no place of the running calls, and at most 64 of a caller wait", async () => {
    const cursor = await start();
    const end = new AbortController();
    setMaxListeners(0, end.signal);
    const waiting = Array.from({ length: 64 }, () =>
      on
        .run("watch", { cursor, waitMs: 30_000 }, { signal: end.signal })
        .catch((error: { code: string }) => error.code),
    );
    expect(await on.run("stat", { path: "none" })).toEqual({ exists: false });
    expect((await on.fail("watch", { cursor, waitMs: 1 })).code).toBe("LIMIT");
    const other = { callerDID: "did:key:alice" };
    const own = await on.run("watch", {}, other);
    expect((await on.run("watch", { cursor: own.cursor, waitMs: 1 }, other)).events).toEqual([]);
    end.abort();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["ABORTED"]));
    expect((await on.run("watch", { cursor, waitMs: 1 })).events).toEqual([]);
  });

  test("is shown to a model as lines", async () => {
    const cursor = await start();
    await on.run("mkdir", { path: "d" });
    await on.run("move", { path: "d", to: "e" });
    const rendering = await on.render("watch", { cursor });
    expect(rendering).toMatchObject({
      kind: "text",
      text: "created d/\nmoved d -> e/",
      note: expect.stringMatching(/^cursor \S+$/),
    });
    expect(await on.render("watch", {})).toMatchObject({ text: "no changes" });
  });
});

describe("changes by others", () => {
  const within = (path: string) => join(on.dir, path);

  test.each<[string, () => void, string[]]>([
    ["a new file", () => writeFileSync(within("x/new"), "1"), ["created x/new"]],
    ["another content", () => appendFileSync(within("x/file"), "1"), ["modified x/file"]],
    ["a file put in its place", () => renameSync(within("spare"), within("x/file")), ["modified x/file"]],
    ["a file that goes", () => rmSync(within("x/file")), ["deleted x/file"]],
    ["a directory that goes with all in it", () => rmSync(within("x/sub"), { recursive: true }), ["deleted x/sub"]],
    [
      "a directory with content",
      () => {
        mkdirSync(within("x/a/b"), { recursive: true });
        writeFileSync(within("x/a/b/c"), "1");
      },
      ["created x/a", "created x/a/b", "created x/a/b/c"],
    ],
    [
      "a directory that moves",
      () => renameSync(within("x/sub"), within("x/moved")),
      ["deleted x/sub", "created x/moved", "created x/moved/deep"],
    ],
    [
      "a file that becomes a directory",
      () => {
        rmSync(within("x/file"));
        mkdirSync(within("x/file"));
      },
      ["deleted x/file", "created x/file"],
    ],
  ])("are told: %s", async (_what, change, events) => {
    on.put("x/file", "0");
    on.put("spare", "0");
    on.put("x/sub/deep", "0");
    const cursor = await start({ path: "x" });
    change();
    const expected = events.map((event) => `${event}  external`).sort();
    const isLate = (event: string) =>
      /^(?:created|modified) x(?:\/file|\/sub|\/sub\/deep)? {2}external$/.test(event) && !expected.includes(event);
    const found = await eventsAfter(cursor, events.length, { path: "x" }, isLate);
    expect(found.sort()).toEqual(expected);
  });

  test("go on being told in directories that others, or we, have made, moved and copied", async () => {
    on.put("tree/deep/a", "0");
    const cursor = await start();
    await on.run("move", { path: "tree", to: "moved" });
    await on.run("copy", { path: "moved", to: "copied", recursive: true });
    await on.run("mkdir", { path: "made/deep", parents: true });
    await eventsAfter(cursor, 4);
    for (const path of ["moved", "copied", "made"]) {
      const now = { cursor: await start({ path }) };
      writeFileSync(within(`${path}/deep/b`), "1");
      expect(await eventsAfter(now.cursor, 1, { path })).toEqual([`created ${path}/deep/b  external`]);
    }
  });

  test("outside the root are never told, whatever link leads there", async () => {
    mkdirSync(join(on.outside, "d"));
    symlinkSync(on.outside, within("link"));
    mkdirSync(within("real"));
    const cursor = await start();
    writeFileSync(join(on.outside, "d/private"), "1");
    // A directory that is watched leaves the root: what happens in it then is nobody's business here.
    renameSync(within("real"), join(on.outside, "real"));
    writeFileSync(join(on.outside, "real/private"), "1");
    expect(await eventsAfter(cursor, 1)).toEqual(["deleted real  external"]);
    const later = { cursor: await start() };
    writeFileSync(join(on.outside, "real/later"), "1");
    expect(shown(await on.run("watch", { cursor: later.cursor, waitMs: 200 }))).toEqual([]);
  });

  test("on what is denied, and in our own folder, are not told", async () => {
    const cursor = await start();
    mkdirSync(within("secret"));
    writeFileSync(within("secret/a"), "1");
    mkdirSync(within(".venue-files/x"), { recursive: true });
    expect(shown(await on.run("watch", { cursor, waitMs: 200 }))).toEqual([]);
  });
});
