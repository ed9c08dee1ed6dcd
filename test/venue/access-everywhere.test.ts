// Access tokens on every surface that takes a bearer: good, run out by the clock, revoked, and stolen from where they lie.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { basic, bearer, type Sent, send } from "../surfaces/http/client.js";
import { httpRequestOf, toolCall } from "../surfaces/mcp/raw.js";
import { ALL_DOCS, accessOf, type Issued } from "./operations/access-calls.js";
import { useGround } from "./operations/fixture.js";

const ground = useGround();
const { issue } = accessOf(ground);
const HOUR = 3_600_000;

const realNow = Date.now.bind(Date);
let ahead = 0;
beforeEach(() => {
  ahead = 0;
  jest.spyOn(Date, "now").mockImplementation(() => realNow() + ahead);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const end = new AbortController();
const FILE = { root: "docs", path: "sub/a.txt" };
const run = { json: { operation: "file:read", input: FILE } };
const mcp = httpRequestOf("legacy", { id: 1, ...toolCall("file_read", FILE) });

/** A request on each surface, without its bearer. */
const SURFACES: Readonly<Record<string, readonly [path: string, sent: Sent]>> = {
  "POST /api/v1/run": ["/api/v1/run", run],
  "POST /api/v1/invoke": ["/api/v1/invoke", run],
  "GET /api/v1/jobs": ["/api/v1/jobs", {}],
  "GET of a file": ["/api/v1/files/docs/sub/a.txt", {}],
  "PUT of a file": ["/api/v1/files/docs/sub/a.txt", { method: "PUT", body: "docs" }],
  "the events": ["/api/v1/events?topic=files:docs", { signal: end.signal }],
  MCP: ["/mcp", mcp],
  "GET over WebDAV": ["/dav/docs/sub/a.txt", {}],
  "PROPFIND over WebDAV": ["/dav/docs/", { method: "PROPFIND", headers: { depth: "1" } }],
  "PUT over WebDAV": ["/dav/docs/sub/a.txt", { method: "PUT", body: "docs" }],
  assets: ["/api/v1/assets", {}],
};

async function statusOf(surface: string, credentials: Sent["headers"]): Promise<number> {
  const [path, sent] = SURFACES[surface] ?? ["", {}];
  const response = await send(ground.venue.url + path, { ...sent, headers: { ...sent.headers, ...credentials } });
  if (!path.includes("/events")) await response.arrayBuffer();
  else await response.body?.cancel();
  return response.status;
}

const isDav = (surface: string) => surface.includes("WebDAV");

describe.each(Object.keys(SURFACES))("an access token at %s", (surface) => {
  let made: Issued;
  beforeEach(async () => {
    await ground.open({ auth: { public: { enabled: true, caps: [ALL_DOCS] } } });
    made = await issue({ label: "agent", caps: [ALL_DOCS], lifetimeSeconds: 3600 });
  });
  const ways = (token: string) => [bearer(token), ...(isDav(surface) ? [basic(token, "agent")] : [])];
  const statuses = async (token: string) => Promise.all(ways(token).map((way) => statusOf(surface, way)));
  const all = (status: number) => ways("").map(() => status);

  test("serves until it runs out, then never, though anybody may do the same without", async () => {
    for (const status of await statuses(made.token)) expect(status).toBeLessThan(300);
    ahead = HOUR - 60_000;
    for (const status of await statuses(made.token)) expect(status).toBeLessThan(300);
    ahead = HOUR + 1000;
    expect(await statuses(made.token)).toEqual(all(401));
  });

  test("ends with its revocation", async () => {
    await ground.byOperator("auth:revoke", { id: made.id });
    expect(await statuses(made.token)).toEqual(all(401));
  });

  test("is nothing that can be read in the state directory, nor its id or DID", async () => {
    const folder = join(ground.base, "state/access");
    const kept = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
      .join("\n");
    const [hash = ""] = /[0-9a-f]{64}/.exec(kept) ?? [];
    expect(hash).not.toBe("");
    for (const stolen of [hash, `vft_${hash}`, `vft_${hash.slice(0, 43)}`, made.id, made.did]) {
      expect(await statuses(stolen)).toEqual(all(401));
    }
  });
});

describe("what was opened with a token", () => {
  beforeEach(() => ground.open());
  const ticketOf = async (bearer: string): Promise<string> => {
    const input = { root: "docs", path: "sub/a.txt", direction: "download", ttlSeconds: 3600 };
    return String((await ground.call("file:transfer", input, { bearer })).output["href"]);
  };

  test.each(["runs out", "is revoked"])("a ticket and a stream end when it %s", async (way) => {
    const { id, token } = await issue({ label: "agent", caps: [ALL_DOCS], lifetimeSeconds: 600 });
    const href = await ticketOf(token);
    expect((await fetch(href)).status).toBe(200);
    const stream = await send(`${ground.venue.url}/api/v1/events?topic=files:docs`, { token });
    const rest = (async () => {
      let text = "";
      for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
      return text;
    })();
    if (way === "runs out") ahead = 601_000;
    else await ground.byOperator("auth:revoke", { id });
    expect(await rest).toContain("event: end\n");
    expect((await fetch(href)).status).toBe(401);
    writeFileSync(join(ground.base, "docs/sub/a.txt"), "later");
  });

  test("a token in the address is none", async () => {
    const { token } = await issue({ label: "agent", caps: [ALL_DOCS] });
    for (const name of ["token", "access_token", "authorization"]) {
      const url = `${ground.venue.url}/api/v1/files/docs/sub/a.txt?${name}=${token}`;
      expect((await fetch(url)).status).not.toBe(200);
    }
    expect(
      (await fetch(`${ground.venue.url}/api/v1/files/docs/sub/a.txt`, { headers: { cookie: `token=${token}` } }))
        .status,
    ).not.toBe(200);
  });
});
