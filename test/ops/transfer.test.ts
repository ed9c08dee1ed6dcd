import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { parseConfig } from "../../src/config/load.js";
import type { VenueConfig, VenueConfigInput } from "../../src/config/types.js";
import { silentLog } from "../../src/core/ports/log.js";
import { createFileAdapter } from "../../src/index.js";
import { tokenId } from "../../src/ucan/token/id.js";
import { type OpenVenue, openVenue } from "../../src/venue/start/open-venue.js";
import { bodyOf, invoke } from "../surfaces/http/client.js";
import { mcpClient } from "../surfaces/mcp/sessions.js";
import { alice, signed } from "../ucan/tokens.js";

const TOKEN = "t".repeat(32);
const OPTIONS = { env: {}, log: silentLog };

let base: string;
let venue: OpenVenue;
let url: string;

const config = (caps: readonly object[], more: VenueConfigInput = {}) =>
  parseConfig(
    {
      ...{ port: 0, stateDir: "state" },
      auth: { public: { enabled: false }, tokens: [{ name: "alice", token: { file: "token" }, caps }] },
      file: { roots: { docs: { path: "docs" }, ro: { path: "docs", readOnly: true } } },
      mcp: { tools: "full" },
      ...more,
    } as VenueConfigInput,
    { baseDir: base },
  );
const ALL = [{ with: "file://", can: "crud" }];
const CRUD = { with: "file://docs/", can: "crud" };

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-transfer-")));
  mkdirSync(join(base, "docs/sub"), { recursive: true });
  writeFileSync(join(base, "docs/a b.txt"), "alpha");
  writeFileSync(join(base, "docs/other.txt"), "other");
  writeFileSync(join(base, "token"), TOKEN, { mode: 0o600 });
});
afterEach(async () => {
  await venue?.close();
  rmSync(base, { recursive: true, force: true });
});

async function serve(caps: readonly object[] = ALL): Promise<void> {
  venue = await openVenue(config(caps), { listens: true, ...OPTIONS });
  ({ url } = await venue.host.listen());
}

interface Outcome {
  readonly output?: { readonly href: string; readonly method: string; readonly expires: number };
  readonly errorCode?: string;
}

async function issue(input: object, more: object = {}, bearer: string | undefined = TOKEN): Promise<Outcome> {
  const call = { operation: "file:transfer", input: { root: "docs", ...input }, wait: true, ...more };
  return bodyOf<Outcome>(invoke(url, call, "ucans" in more ? undefined : bearer));
}

async function ticket(input: object, more: object = {}, bearer?: string): Promise<string> {
  return (await issue(input, more, bearer)).output?.href ?? "";
}

const TAKEN_BACK = [
  401,
  '{"error":"The rights behind this ticket were revoked. Authenticate, and ask file:transfer for another"}',
];

const DOWN = { path: "a b.txt", direction: "download" };
const UP = { path: "new.txt", direction: "upload" };
const statusOf = async (href: string, options: RequestInit = {}) => {
  const answer = await fetch(href, options);
  return [answer.status, await answer.text()];
};

describe("a ticket", () => {
  test("downloads its one file, whole or in part, for whoever holds it", async () => {
    await serve();
    const { output } = await issue(DOWN);
    expect(output).toMatchObject({ method: "GET" });
    expect(output?.expires ?? 0).toBeGreaterThan(Date.now() + 200_000);
    const href = output?.href ?? "";
    expect(await statusOf(href)).toEqual([200, "alpha"]);
    expect(await statusOf(href, { headers: { range: "bytes=1-2" } })).toEqual([206, "lp"]);
    expect(await statusOf(href, { method: "HEAD" })).toEqual([200, ""]);
  });

  test("uploads its one file", async () => {
    await serve();
    const href = await ticket(UP);
    expect((await statusOf(href, { method: "PUT", body: "beta" }))[0]).toBe(201);
    expect(readFileSync(join(base, "docs/new.txt"), "utf8")).toBe("beta");
  });

  test.each<[string, object, RequestInit, (href: string) => string]>([
    ["the other direction", DOWN, { method: "PUT", body: "x" }, (href) => href],
    ["downloading what it uploads", UP, {}, (href) => href],
    ["another file", DOWN, {}, (href) => href.replace("a%20b.txt", "other.txt")],
    ["another root", DOWN, {}, (href) => href.replace("/docs/", "/ro/")],
    ["another signature", DOWN, {}, (href) => `${href.slice(0, -2)}${href.endsWith("AA") ? "BB" : "AA"}`],
    ["no signature", DOWN, {}, (href) => href.replace(/\.[^.]*$/, "")],
    ["another id", DOWN, {}, (href) => href.replace(/ticket=..../, "ticket=AAAA")],
    ["nothing", DOWN, {}, (href) => href.replace(/ticket=.*/, "ticket=")],
  ])("does not serve for %s", async (_name, input, options, change) => {
    await serve();
    const changed = change(await ticket(input));
    expect(await statusOf(changed, options)).toEqual([403, '{"error":"Invalid or expired ticket"}']);
  });

  test("serves for its place alone, also once nothing is there", async () => {
    mkdirSync(join(base, "docs/docs"));
    writeFileSync(join(base, "docs/docs/other.txt"), "inner");
    await serve();
    const [down, up] = [
      await ticket({ path: "docs/other.txt", direction: "download" }),
      await ticket({ path: "docs/new.txt", direction: "upload" }),
    ];
    expect(await statusOf(down)).toEqual([200, "inner"]);
    renameSync(join(base, "docs/docs"), join(base, "docs/gone"));
    expect((await statusOf(down))[0]).toBe(404);
    await statusOf(up, { method: "PUT", body: "x" });
    expect(existsSync(join(base, "docs/new.txt"))).toBe(false);
  });

  test("ends with its time", async () => {
    await serve();
    const { output } = await issue({ ...DOWN, ttlSeconds: 60 });
    const { href = "", expires = 0 } = output ?? {};
    const now = jest.spyOn(Date, "now");
    try {
      now.mockReturnValue(expires - 1);
      expect((await statusOf(href))[0]).toBe(200);
      now.mockReturnValue(expires + 1);
      expect((await statusOf(href))[0]).toBe(403);
    } finally {
      now.mockRestore();
    }
  });

  test("gives no more than the caps of the call that asked for it", async () => {
    await serve();
    const caps = [{ with: "file://docs/sub/", can: "crud" }];
    expect(await issue(DOWN, { caps })).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    const href = await ticket({ path: "sub/x.txt", direction: "upload" }, { caps });
    // What stands between the ticket and its use must not widen it.
    renameSync(join(base, "docs/sub"), join(base, "docs/real"));
    mkdirSync(join(base, "docs/sub"));
    expect((await statusOf(href, { method: "PUT", body: "x" }))[0]).toBe(201);
  });

  test("asks for the right that its direction needs", async () => {
    await serve([{ with: "file://docs/", can: "crud/read" }]);
    expect(await issue(UP)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    expect(await statusOf(await ticket(DOWN))).toEqual([200, "alpha"]);
  });

  test("gives what the static token of who asked gives when it is used, and is refused when that is gone", async () => {
    await serve();
    const [href, up] = [await ticket(DOWN), await ticket(UP)];
    const reload = async (next: VenueConfig) => void (await venue.prepareReload(next).commit());
    await reload(config([{ with: "file://docs/sub/", can: "crud" }]));
    expect((await statusOf(href))[0]).toBe(403);
    await reload(config([{ with: "file://docs/", can: "crud/read" }]));
    expect(await statusOf(href)).toEqual([200, "alpha"]);
    expect((await statusOf(up, { method: "PUT", body: "x" }))[0]).toBe(403);
    await reload(config([], { auth: { public: { enabled: false } } }));
    expect(await statusOf(href)).toEqual(TAKEN_BACK);
    expect(await statusOf(up, { method: "PUT", body: "x" })).toEqual(TAKEN_BACK);
    expect(existsSync(join(base, "docs/new.txt"))).toBe(false);
  });

  describe("is refused once what made it was revoked", () => {
    const revoke = (entry: string) => appendFileSync(join(base, "revoked"), `${entry}\n`);
    const serveRevoking = async () => {
      writeFileSync(join(base, "revoked"), "");
      const tokens = [{ name: "alice", token: { file: "token" }, did: alice.did, caps: ALL }];
      const grants = [{ did: alice.did, ...CRUD }];
      const auth = { public: { enabled: true, caps: [] }, tokens, grants, ucan: { revocations: "revoked" } };
      venue = await openVenue(config(ALL, { auth }), { listens: true, ...OPTIONS });
      ({ url } = await venue.host.listen());
    };
    const signedBy = (claims: object) => {
      const { did } = venue.access;
      const now = Math.floor(Date.now() / 1000);
      const payload = { iss: alice.did, aud: did, iat: now, exp: now + 300, ...claims };
      return signed({ header: { alg: "EdDSA", typ: "JWT", kid: alice.multikey }, payload });
    };
    const identity = () => signedBy({ sub: alice.did });
    const ucan = () => signedBy({ ucv: "0.10.0", att: [CRUD], prf: [] });
    const idOf = (token: string) => tokenId(token.slice(0, token.lastIndexOf(".")));

    const made: readonly [string, () => { bearer: string | undefined; ucans?: readonly string[]; names: string[] }][] =
      [
        ["a static token", () => ({ bearer: TOKEN, names: [alice.did, `${venue.access.did}:token:alice`] })],
        ["an identity", () => bearerOf(identity())],
        ["a UCAN as bearer", () => bearerOf(ucan())],
        ["a UCAN that named its caller", () => ({ ...bearerOf(ucan(), "ucans") })],
      ];
    const bearerOf = (token: string, sentIn: "bearer" | "ucans" = "bearer") => ({
      names: [idOf(token), alice.did],
      ...(sentIn === "bearer" ? { bearer: token } : { bearer: undefined, ucans: [token] }),
    });

    const each = made.flatMap(([what, make]) => [0, 1].map((at) => [what, make, at] as const));
    test.each(each)("by the id or DID of %s", async (_what, make, at) => {
      await serveRevoking();
      const { bearer, ucans, names } = make();
      const more = ucans === undefined ? {} : { ucans };
      const [href, up] = [await ticket(DOWN, more, bearer), await ticket(UP, more, bearer)];
      expect(await statusOf(href)).toEqual([200, "alpha"]);
      revoke("did:web:other");
      expect(await statusOf(href)).toEqual([200, "alpha"]);
      revoke(names[at] ?? "");
      expect(await statusOf(href)).toEqual(TAKEN_BACK);
      const forged = href.replace(/\.(.)([^.]*)$/, (_, first, rest) => `.${first === "A" ? "B" : "A"}${rest}`);
      expect(await statusOf(forged)).toEqual([403, expect.any(String)]);
      expect(await statusOf(up, { method: "PUT", body: "x" })).toEqual(TAKEN_BACK);
      expect(existsSync(join(base, "docs/new.txt"))).toBe(false);
    });
  });

  test.each<[object, string]>([
    [{ path: "none.txt", direction: "download" }, "NOT_FOUND"],
    [{ path: "sub", direction: "download" }, "IS_A_DIRECTORY"],
    [{ path: "sub", direction: "upload" }, "IS_A_DIRECTORY"],
    [{ path: "", direction: "upload" }, "IS_A_DIRECTORY"],
    [{ root: "ro", path: "x", direction: "upload" }, "READ_ONLY_ROOT"],
    [{ path: "../x", direction: "upload" }, "PATH_ESCAPES_ROOT"],
    [{ path: "x", direction: "sideways" }, "INVALID_INPUT"],
    [{ path: "x", direction: "upload", ttlSeconds: 3601 }, "INVALID_INPUT"],
  ])("is not made for %j: %s", async (input, errorCode) => {
    await serve();
    expect(await issue(input)).toMatchObject({ errorCode });
  });

  test("is made for a client of MCP, and holds what it wants to move", async () => {
    await serve();
    const client = await mcpClient({ url, token: TOKEN });
    try {
      const answer = await client.callTool({ name: "file_transfer", arguments: { root: "docs", ...DOWN } });
      const { href } = answer.structuredContent as { href: string };
      expect(await statusOf(href)).toEqual([200, "alpha"]);
    } finally {
      await client.close();
    }
  });
});

test("without HTTP the answer says what to do instead", async () => {
  const files = await createFileAdapter({ roots: { docs: join(base, "docs") } });
  try {
    const call = files.invoke("file:transfer", { root: "docs", path: "a b.txt", direction: "download" });
    await expect(call).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
      message: "Not supported by this venue: tickets, which need HTTP. Use file_read with offset and length",
    });
  } finally {
    await files.close();
  }
});
