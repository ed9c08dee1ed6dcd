import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Sent } from "../../../surfaces/http/client.js";
import { httpRequestOf } from "../../../surfaces/mcp/raw.js";
import { keyPair, nowSeconds, sign } from "./issuer.js";
import { ALL, IssuerVenue } from "./issuer-venue.js";

let here: IssuerVenue;
beforeEach(() => {
  here = new IssuerVenue();
});
afterEach(() => here.close());

const PATIENCE_MS = 20_000;
/** Wide of the two seconds that are promised: machines are slow. */
const SOON_MS = 8000;

interface Stream {
  /** Whether it has told of a file. */
  tells(name: string): boolean;
  /** Resolves to the last of what came, when nothing more comes. */
  readonly ended: Promise<string>;
}

interface Kind {
  readonly request: () => readonly [path: string, sent?: Sent];
  /** How an event tells of a file. */
  readonly telling: (name: string) => string;
  readonly end: RegExp;
}

const RESOURCES = ["before.txt", "behind.txt"].map((name) => `venue://docs/${name}`);
/** What can be followed by a caller of an issuer. */
const KINDS: readonly (readonly [string, Kind])[] = [
  [
    "events",
    {
      request: () => ["/api/v1/events?topic=files:docs"],
      telling: (name) => `"path":"${name}"`,
      end: /event: end\ndata: \{\}$/,
    },
  ],
  [
    "what is told over MCP",
    {
      request: () => {
        const params = { notifications: { resourceSubscriptions: RESOURCES } };
        const message = httpRequestOf("modern", { id: "news", method: "subscriptions/listen", params });
        return ["/mcp", message];
      },
      telling: (name) => `{"uri":"venue://docs/${name}"`,
      end: /"result":\{.*"io\.modelcontextprotocol\/subscriptionId":"news".*"id":"news"\}$/,
    },
  ],
];

async function follow({ request, telling }: Kind, token: string): Promise<Stream> {
  const response = await here.send(request()[0], token, request()[1]);
  expect(response.status).toBe(200);
  let text = "";
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const part of response.body ?? []) text += decoder.decode(part, { stream: true });
  };
  const ended = read()
    .catch(() => {})
    .then(() => text.trimEnd().split("\n\n").at(-1) ?? "");
  await until(() => text.includes("\n\n"));
  return { tells: (name) => text.includes(telling(name)), ended };
}

/** After `end` a stream tells of nothing more, and is over. */
async function expectEnded(stream: Stream, { end }: Kind, how: () => unknown): Promise<void> {
  await how();
  const begun = performance.now();
  await write("behind.txt");
  expect(await stream.ended).toMatch(end);
  expect(performance.now() - begun).toBeLessThan(SOON_MS);
  expect(stream.tells("behind.txt")).toBe(false);
}

const until = async (isSo: () => boolean): Promise<void> => {
  const begun = performance.now();
  while (!isSo()) {
    if (performance.now() - begun > PATIENCE_MS) throw new Error("It has not come to pass");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

const write = (path: string) => here.operate("file:write", { root: "docs", path, content: "" });
const didOf = async (token: string) =>
  ((await (await here.run(token, "auth:whoami", {})).json()) as { did: string }).did;

interface Entry {
  readonly kind: string;
  readonly id: string;
  readonly lastUsed?: number;
  readonly revoked?: number;
}
const callers = async () => (await here.operate<{ entries: Entry[] }>("auth:list", { kind: "issuer" })).entries;

describe("a caller that is revoked", () => {
  test.each(KINDS)("is refused at once, and %s end with nothing behind", async (_, kind) => {
    await here.open();
    const [token, other] = [await here.token(), await here.token({ sub: "bob" })];
    const [stream, ofOther] = [await follow(kind, token), await follow(kind, other)];
    await write("before.txt");
    await until(() => stream.tells("before.txt") && ofOther.tells("before.txt"));
    const id = await didOf(token);
    await expectEnded(stream, kind, async () => {
      expect(await here.operate("auth:revoke", { id })).toEqual({
        ...{ revoked: true, id: expect.stringMatching(/:sub:[0-9a-f]{32}$/) },
      });
    });
    expect(await here.read(token)).toBe(401);
    await until(() => ofOther.tells("behind.txt"));
    expect(await here.read(other)).toBe(200);
  });

  test("is so with another token, and after a restart", async () => {
    await here.open();
    const did = await didOf(await here.token());
    await here.operate("auth:revoke", { id: did });
    expect(await here.read(await here.token({ jti: "another" }))).toBe(401);
    await here.stop();
    await here.open();
    expect(await here.read(await here.token())).toBe(401);
    expect(await here.read(await here.token({ sub: "bob" }))).toBe(200);
  });

  test("is revoked by nobody but the operator", async () => {
    await here.open();
    const [token, other] = [await here.token(), await here.token({ sub: "bob" })];
    const id = await didOf(token);
    for (const one of [token, other]) expect((await here.run(one, "auth:revoke", { id })).status).toBe(403);
    expect(await here.read(token)).toBe(200);
  });
});

/** Told apart by the beginning of the hash. */
const labelOf = (did: string) => `${new URL(here.issuer.url).host} ${did.split(":").at(-1)?.slice(0, 8)}`;

describe("the list of who holds what", () => {
  test("has those who have called, with what they may do and when they did it last", async () => {
    const map = [{ when: {}, caps: [{ with: "file://docs/", can: "crud" }] }];
    await here.open({ map });
    expect(await callers()).toEqual([]);
    const begun = Date.now();
    const did = await didOf(await here.token({ scope: "files:read files:write" }));
    const [entry, ...others] = await callers();
    expect(others).toEqual([]);
    expect(entry).toEqual({
      ...{ kind: "issuer", id: did, did, label: labelOf(did), lastUsed: expect.any(Number) },
      grants: ["crud/read", "crud/write"].map((can) => ({ with: "file://docs/", can })),
    });
    expect(entry?.lastUsed).toBeGreaterThanOrEqual(begun);
    await here.operate("auth:revoke", { id: did });
    expect((await callers())[0]?.revoked).toBeDefined();
  });

  test("has each of them once, and pages of them", async () => {
    await here.open();
    for (const sub of ["ann", "bob", "cid"])
      for (const jti of ["1", "2"]) await here.read(await here.token({ sub, jti }));
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const input = { kind: "issuer", limit: 2, ...(cursor === undefined ? {} : { cursor }) };
      const page = await here.operate<{ entries: Entry[]; nextCursor?: string }>("auth:list", input);
      ids.push(...page.entries.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect([ids.length, new Set(ids).size]).toEqual([3, 3]);
  });
});

describe("a token ends", () => {
  test.each(KINDS)("by its jti in the revocation list, with %s, and no other with it", async (_, kind) => {
    writeFileSync(join(here.base, "revoked.txt"), "");
    await here.open({}, { auth: { ucan: { revocations: "revoked.txt" } } });
    const [token, other] = [await here.token({ jti: "onrtac:7-a/b" }), await here.token({ jti: "8" })];
    const stream = await follow(kind, token);
    expect([await here.read(token), await here.read(other)]).toEqual([200, 200]);
    await expectEnded(stream, kind, () => appendFileSync(join(here.base, "revoked.txt"), "jti:onrtac:7-a/b # lost\n"));
    expect([await here.read(token), await here.read(other)]).toEqual([401, 200]);
    await here.operate("ucan:revoke", { id: "jti:8" });
    expect(await here.read(other)).toBe(401);
  });

  test.each(KINDS)("by its caller's DID in the revocation list, with %s", async (_, kind) => {
    writeFileSync(join(here.base, "revoked.txt"), "");
    await here.open({}, { auth: { ucan: { revocations: "revoked.txt" } } });
    const [token, other] = [await here.token({ jti: "7" }), await here.token({ sub: "bob" })];
    const did = await didOf(token);
    const stream = await follow(kind, token);
    await expectEnded(stream, kind, () => appendFileSync(join(here.base, "revoked.txt"), `${did}\n`));
    expect([await here.read(await here.token({ jti: "8" })), await here.read(other)]).toEqual([401, 200]);
  });

  test("by a line that revokes whatever was issued before, also where it does not say when", async () => {
    writeFileSync(join(here.base, "revoked.txt"), "");
    await here.open({}, { auth: { ucan: { revocations: "revoked.txt" } } });
    const [old, unsaid, late] = [{ iat: nowSeconds() - 100 }, { iat: undefined }, {}].map((claims) =>
      here.token(claims),
    );
    appendFileSync(join(here.base, "revoked.txt"), `before:${nowSeconds() - 50}\n`);
    expect(await Promise.all([old, unsaid, late].map(async (one) => here.read(await one)))).toEqual([401, 401, 200]);
  });

  test.each(KINDS)("by its time, with %s", async (_, kind) => {
    await here.open({}, { auth: { clockSkew: 0 } });
    const exp = nowSeconds() + 6;
    const token = await here.token({ exp });
    const stream = await follow(kind, token);
    await expectEnded(stream, kind, () => until(() => Date.now() >= exp * 1000));
    expect(await here.read(token)).toBe(401);
  });

  test.each(KINDS)("by a reload without its issuer, with %s, and begins again by one with it", async (_, kind) => {
    await here.open();
    const token = await here.token();
    expect(await here.read(token)).toBe(200);
    const stream = await follow(kind, token);
    await expectEnded(stream, kind, async () => {
      expect(await here.reload({}, { auth: { issuers: [] } })).toEqual([]);
    });
    expect(await here.read(token)).toBe(401);
    expect((await here.send("/.well-known/oauth-protected-resource", undefined)).status).toBe(404);
    await here.reload();
    expect(await here.read(token)).toBe(200);
  });

  test("in part by a reload with another map; one that changes nothing asks the issuer nothing", async () => {
    await here.open();
    const token = await here.token();
    expect(await here.read(token)).toBe(200);
    here.issuer.paths.length = 0;
    await here.reload();
    expect([await here.read(token), here.issuer.paths]).toEqual([200, []]);
    await here.reload({ map: [{ when: { team: "a" }, caps: [ALL] }] });
    expect(await here.read(token)).toBe(403);
  });

  test("not by another key at its issuer, as long as its own is there", async () => {
    await here.open();
    const token = await here.token();
    expect(await here.read(token)).toBe(200);
    const other = await keyPair("ES256", "2");
    here.issuer.keys.push(other);
    expect(await here.read(token)).toBe(200);
    // Unknown so far, and asked for no sooner than 30 seconds after the last time.
    expect(await here.read(await sign(other, { iss: here.issuer.url, aud: here.resource }))).toBe(401);
  });
});

test("a reload to issuers is refused where the address is not safe", async () => {
  const plain = { baseUrl: "http://files.example.com", listen: { socket: "s" } };
  await here.open({}, { ...plain, auth: { issuers: [] } });
  expect(() => here.reload({}, plain)).toThrow(/auth\.issuers needs a baseUrl by https/);
});
