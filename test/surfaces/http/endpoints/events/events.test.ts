import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createVenue, type Venue } from "../../../../../src/index.js";
import { send } from "../../client.js";

const TOKENS = { alice: "a".repeat(32), reader: "r".repeat(32), gone: "g".repeat(32) };
type Name = keyof typeof TOKENS;
const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-events-")));
let venue: Venue;
let url: string;

beforeAll(async () => {
  mkdirSync(join(base, "docs/open"), { recursive: true });
  mkdirSync(join(base, "docs/closed"));
  for (const [name, token] of Object.entries(TOKENS))
    writeFileSync(join(base, `${name}.token`), token, { mode: 0o600 });
  const token = (name: Name, caps: object[]) => ({ name, token: { file: `${name}.token` }, caps });
  venue = await createVenue(
    {
      ...{ port: 0, stateDir: "state", corsOrigins: ["https://app.example"] },
      file: { roots: { docs: { path: "docs", deny: ["secret"] } } },
      auth: {
        public: { enabled: false },
        tokens: [
          token("alice", [{ with: "file://docs/", can: "crud" }]),
          token("reader", [{ with: "file://docs/open/", can: "crud/read" }]),
          token("gone", [{ with: "file://docs/", can: "crud" }]),
        ],
      },
    } as never,
    { baseDir: base },
  );
  ({ url } = await venue.listen());
});
const open: Stream[] = [];
afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
});
afterAll(async () => {
  await venue.close();
  rmSync(base, { recursive: true, force: true });
});

interface Event {
  readonly id: string;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

interface Stream {
  readonly response: Response;
  /** The next event; ids without data are left out. `undefined`: the stream has ended. */
  next(): Promise<Event | undefined>;
  lastId: string;
  close(): void;
}

const bearer = (name: Name) => ({ authorization: `Bearer ${TOKENS[name]}` });

async function follow(name: Name, topics: readonly string[], headers: Record<string, string> = {}): Promise<Stream> {
  const end = new AbortController();
  const query = topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join("&");
  const response = await fetch(`${url}/api/v1/events?${query}`, {
    ...{ headers: { ...bearer(name), ...headers }, signal: end.signal },
  });
  const chunks = response.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let text = "";
  const stream: Stream = {
    response,
    lastId: "",
    close: () => end.abort(),
    async next() {
      for (;;) {
        const at = text.indexOf("\n\n");
        if (at < 0) {
          const chunk = await chunks?.next();
          if (chunk === undefined || chunk.done === true) return undefined;
          text += chunk.value;
          continue;
        }
        const fields = Object.fromEntries(
          text
            .slice(0, at)
            .split("\n")
            .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
        ) as Record<string, string>;
        text = text.slice(at + 2);
        stream.lastId = fields["id"] ?? stream.lastId;
        if (fields["data"] !== undefined)
          return { id: fields["id"] ?? "", event: fields["event"] ?? "", data: JSON.parse(fields["data"]) };
      }
    },
  };
  open.push(stream);
  return stream;
}

async function write(path: string, name: Name = "alice"): Promise<void> {
  const answer = await fetch(`${url}/api/v1/files/docs/${path}`, {
    ...{ method: "PUT", body: String(Math.random()), headers: bearer(name) },
  });
  expect([201, 204]).toContain(answer.status);
}

const pathOf = (event: Event | undefined) => event?.data["path"];

describe("GET /api/v1/events", () => {
  test("tells of files by their topic, as they change", async () => {
    const stream = await follow("alice", ["files:docs/open"]);
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
    await write("closed/a");
    await write("open/a");
    expect(await stream.next()).toEqual({
      ...{ id: expect.stringMatching(/^[\w-]{22}$/), event: "files:docs/open" },
      data: { type: "created", path: "open/a", entryType: "file", etag: expect.any(String), origin: "adapter" },
    });
    writeFileSync(join(base, "docs/open/other"), "1");
    expect(await stream.next()).toMatchObject({ data: { path: "open/other", origin: "external" } });
  });

  test("leaves out what the caller may not see, without a gap; a root without rights is one in which nothing happens", async () => {
    const stream = await follow("reader", ["files:docs", "files:none", "audit"]);
    await write("closed/b");
    await write("secret").catch(() => {});
    await write("open/b");
    expect(await stream.next()).toMatchObject({ event: "files:docs", data: { path: "open/b" } });
  });

  test("orders topics, and tells each caller of its own jobs and calls only", async () => {
    const stream = await follow("alice", ["files:docs", "job", "audit"]);
    const other = await follow("reader", ["job", "audit"]);
    const run = (name: Name, path: string) =>
      send(`${url}/api/v1/run`, {
        json: { operation: "file:stat", input: { root: "docs", path } },
        headers: bearer(name),
      });
    await run("alice", "open/c");
    const found = [await stream.next(), await stream.next(), await stream.next()];
    expect(found.map((event) => [event?.event, event?.data["status"] ?? event?.data["operation"]])).toEqual([
      ["job", "STARTED"],
      ["audit", "file:stat"],
      ["job", "COMPLETE"],
    ]);
    expect(Object.keys(found[2]?.data ?? {})).not.toEqual(expect.arrayContaining(["input"]));
    await run("reader", "open/c");
    expect(await other.next()).toMatchObject({ data: { caller: expect.stringMatching(/:reader$/) } });
  });

  test("goes on behind the last id, and overflows for one of another start", async () => {
    const first = await follow("alice", ["files:docs"]);
    await write("open/d");
    const event = await first.next();
    first.close();
    await write("open/e");
    const second = await follow("alice", ["files:docs"], { "last-event-id": event?.id ?? "" });
    expect(pathOf(await second.next())).toBe("open/e");
    const third = await follow("alice", ["files:docs"], { "last-event-id": "A".repeat(22) });
    expect(await third.next()).toMatchObject({ event: "overflow", data: {} });
    await write("open/f");
    expect(pathOf(await third.next())).toBe("open/f");
  });

  test("loses nothing for a reader that keeps up", async () => {
    const stream = await follow("alice", ["files:docs"]);
    const count = 300;
    const calls = (async () => {
      for (let index = 0; index < count; index++) await write(`open/many${index}`);
    })();
    for (let index = 0; index < count; index++) expect(pathOf(await stream.next())).toBe(`open/many${index}`);
    await calls;
  });

  test("ends upon a revocation, and tells nothing more", async () => {
    const stream = await follow("gone", ["files:docs"]);
    await write("open/g");
    expect(pathOf(await stream.next())).toBe("open/g");
    writeFileSync(join(base, "state/revocations"), `${venue.did}:token:gone\n`);
    expect(await stream.next()).toMatchObject({ event: "end" });
    expect(await stream.next()).toBeUndefined();
  });

  test("is open 64 times for a caller, then 429", async () => {
    const streams = await Promise.all(Array.from({ length: 64 }, () => follow("reader", ["audit"])));
    expect(streams.map(({ response }) => response.status)).toEqual(streams.map(() => 200));
    const one = await follow("reader", ["audit"]);
    expect([one.response.status, one.response.headers.get("retry-after")]).toEqual([429, "5"]);
    expect((await follow("alice", ["audit"])).response.status).toBe(200);
  });

  test.each([
    ["without a topic", ""],
    ["for an unknown topic", "?topic=everything"],
    ["for a root without a name", "?topic=files:"],
    ["for a path that leads out", "?topic=files:docs/../x"],
  ])("is 400 %s", async (_what, query) => {
    const answer = await fetch(`${url}/api/v1/events${query}`, { headers: bearer("alice") });
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([400, expect.any(String)]);
  });

  test("lets pages of allowed origins read it", async () => {
    const stream = await follow("alice", ["audit"], { origin: "https://app.example" });
    expect(stream.response.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });

  test("ends when the venue closes", async () => {
    const stream = await follow("alice", ["files:docs"]);
    await venue.close();
    expect(await stream.next()).toMatchObject({ event: "end" });
  });
});
