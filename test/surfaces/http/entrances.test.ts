import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { VenueConfigInput } from "../../../src/config/types.js";
import { withoutPrefix } from "../../../src/surfaces/http/plumbing/entrance.js";
import { freePort } from "../../ports.js";
import { httpRequestOf, toolCall } from "../mcp/raw.js";
import { bearer } from "./client.js";
import { type Answer, type Ask, type DavVenue, hrefs, serveDav, textIn } from "./dav/fixture.js";

// Addresses in answers belong to the entrance by which the request came.
const PUBLIC = "https://files.test/files";
const open: DavVenue[] = [];
afterAll(() => Promise.all(open.map((venue) => venue.close())));

async function start(more: VenueConfigInput): Promise<DavVenue> {
  const served = await serveDav({ webdav: true, ...more });
  open.push(served);
  return served;
}

/** By `Host` and the path before those of the venue. */
type Way = { readonly host: string; readonly path: string; readonly headers?: Record<string, string> };

interface Expected {
  readonly url: string;
  readonly prefix: string;
}

const knockAt =
  (served: DavVenue, { host, path, headers }: Way) =>
  (method: string, target: string, ask: Ask = {}): Promise<Answer> =>
    served.dav(method, `${path}${target}`, { ...ask, headers: { host, ...headers, ...ask.headers } });

const call = (operation: string, input: object): Ask => ({
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ operation, input, wait: true }),
});

/** Everything that tells an address. */
async function told(served: DavVenue, way: Way, name: string) {
  const ask = knockAt(served, way);
  const credentials = bearer(served.password("operator"));
  const post = (target: string, { headers, body = "" }: Ask) =>
    ask("POST", target, { headers: { ...headers, ...credentials }, body });
  const parsed = async (target: string) => JSON.parse((await ask("GET", target, { headers: credentials })).text);
  await ask("PUT", `/dav/docs/${name}`, { body: "x" });
  const listed = await ask("PROPFIND", "/dav/docs/", { headers: { depth: "1" } });
  const locked = await ask("LOCK", `/dav/docs/${name}`, {
    body: '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>',
  });
  const refused = await ask("PUT", `/dav/docs/${name}`, { body: "y" });
  const invoked = await post(
    "/api/v1/invoke?wait=true",
    call("file:transfer", { root: "docs", path: name, direction: "download" }),
  );
  const moved = await ask("MOVE", `/dav/docs/${name}`, {
    headers: {
      destination: `${way.headers?.["x-forwarded-proto"] ?? "http"}://${way.host}${way.path}/dav/docs/${name}.moved`,
      if: `<http://${way.host}${way.path}/dav/docs/${name}> (<${textIn(locked, "D:locktoken")?.replace(/<[^>]*>/g, "")}>)`,
    },
  });
  const { output } = JSON.parse(invoked.text);
  const ticket = await served.dav("GET", new URL(output.href).pathname + new URL(output.href).search, { as: "nobody" });
  return {
    href: hrefs(listed).find((href) => href.endsWith(name)),
    collection: hrefs(listed)[0],
    root: textIn(locked, "D:lockroot"),
    refused: hrefs(refused)[0],
    job: invoked.headers["location"],
    ticket: output.href.split("?")[0],
    // Moved away meanwhile.
    ticketIsMissing: ticket.status,
    moved: moved.status,
    servers: (await parsed("/openapi.json")).servers,
    status: (await parsed("/api/v1/status")).url,
    did: (await parsed("/.well-known/did.json")).service[0].serviceEndpoint,
  };
}

const addresses = ({ url, prefix }: Expected, name: string) => ({
  href: `${prefix}/dav/docs/${name}`,
  collection: `${prefix}/dav/docs/`,
  root: `<D:href>${prefix}/dav/docs/${name}</D:href>`,
  refused: `${prefix}/dav/docs/${name}`,
  job: expect.stringMatching(new RegExp(`^${prefix}/api/v1/jobs/[0-9a-f]{32}$`)),
  ticket: `${url}/api/v1/files/docs/${name}`,
  ticketIsMissing: 404,
  moved: 201,
  servers: [{ url }],
  status: url,
  did: `${url}/api/v1`,
});

const closed = { auth: { localToken: true, public: { enabled: false } } } as const;

describe("a venue with a path in its baseUrl, on loopback", () => {
  let served: DavVenue;
  let port: number;
  beforeAll(async () => {
    port = await freePort();
    served = await start({ port, baseUrl: PUBLIC, hosts: ["nas.local", "[fd00::7]"], ...closed });
  });

  const direct = (host: string, prefix = ""): Expected => ({ url: `http://${host}${prefix}`, prefix });
  test.each<[string, (port: number) => [Way, Expected]]>([
    ["its port", (at) => [{ host: `127.0.0.1:${at}`, path: "" }, direct(`127.0.0.1:${at}`)]],
    ["its port, another name", (at) => [{ host: `LOCALHOST:${at}`, path: "" }, direct(`localhost:${at}`)]],
    ["its port, with the path", (at) => [{ host: `[::1]:${at}`, path: "/files" }, direct(`[::1]:${at}`, "/files")]],
    [
      "baseUrl",
      () => [
        { host: "files.test", path: "/files" },
        { url: PUBLIC, prefix: "/files" },
      ],
    ],
    [
      "baseUrl, path taken away",
      () => [
        { host: "files.test:443", path: "" },
        { url: PUBLIC, prefix: "/files" },
      ],
    ],
    ["a name of hosts", (at) => [{ host: `nas.local:${at}`, path: "" }, direct(`nas.local:${at}`)]],
    ["an address of hosts", (at) => [{ host: `[fd00::7]:${at}`, path: "" }, direct(`[fd00::7]:${at}`)]],
    [
      "a name of hosts behind TLS",
      () => [
        { host: "nas.local", path: "" },
        { url: "https://nas.local", prefix: "" },
      ],
    ],
  ])("by %s: every address leads back there", async (_, make) => {
    const [way, expected] = make(port);
    const name = `${expected.url.replace(/\W+/g, "-")}-${way.path.length}`;
    expect(await told(served, way, name)).toEqual(addresses(expected, name));
  });

  test.each(["evil.example", "nas.local.evil.example", "files.test.evil.example", "nas.locale", "[fd00::8]"])(
    "the name of somebody else, %s, is refused",
    async (host) => {
      expect(await served.status("GET", "/dav/docs/", { headers: { host } })).toBe(403);
      expect(await served.status("GET", "/dav/docs/", { headers: { host: `${host}:${port}` } })).toBe(403);
    },
  );

  test("what an untrusted proxy says of the address decides nothing", async () => {
    const headers = {
      host: `localhost:${port}`,
      "x-forwarded-host": "nas.local",
      "x-forwarded-prefix": "/p",
      depth: "0",
    };
    expect(hrefs(await served.dav("PROPFIND", "/dav/docs/", { headers }))).toEqual(["/dav/docs/"]);
    // Our own address in Host, and a proxy in front: its clients know baseUrl.
    const relayed = { host: `127.0.0.1:${port}`, "x-forwarded-for": "203.0.113.9", depth: "0" };
    expect(hrefs(await served.dav("PROPFIND", "/dav/docs/", { headers: relayed }))).toEqual(["/files/dav/docs/"]);
  });

  test.each([
    ["the other entrances", ["https://files.test/files", "http://nas.local", "http://user:pw@nas.local"], 201],
    ["our port by another loopback name", ["http://localhost:PORT", "http://[::1]:PORT/files"], 201],
    ["another port of our names", ["http://localhost:1", "http://nas.local:1", "http://files.test:81/files"], 502],
    ["other hosts", ["http://evil.example", "http://nas.local.evil.example", "http://nas.local@evil.example"], 502],
  ])("Destination and If: %s", async (_, urls, status) => {
    for (const [index, url] of urls.entries()) {
      const base = url.replace("PORT", `${port}`);
      const ask = knockAt(served, { host: `127.0.0.1:${port}`, path: "" });
      await ask("PUT", "/dav/docs/from", { body: "x" });
      const goal = `/dav/docs/to-${status}-${index}-${url.length}`;
      expect([url, (await ask("MOVE", "/dav/docs/from", { headers: { destination: base + goal } })).status]).toEqual([
        ...[url, status],
      ]);
      const { headers } = await ask("PUT", "/dav/docs/tagged", { body: "x" });
      const tagged = { if: `<${base}/dav/docs/tagged> ([${headers["etag"]}])` };
      expect([url, (await ask("PUT", "/dav/docs/tagged", { headers: tagged, body: "z" })).status]).toEqual([
        ...[url, status === 201 ? 204 : 412],
      ]);
    }
  });

  test("pages of its entrances may call, those of others not", async () => {
    const from = (host: string, origin: string) =>
      served.status("GET", "/api/v1/status", { as: "nobody", headers: { host, origin } });
    expect(await from(`nas.local:${port}`, `http://nas.local:${port}`)).toBe(200);
    expect(await from("files.test", "https://files.test")).toBe(200);
    expect(await from(`nas.local:${port}`, "http://nas.local:1")).toBe(403);
    expect(await from(`nas.local:${port}`, "http://evil.example")).toBe(403);
  });
});

describe("a venue behind a trusted proxy", () => {
  let served: DavVenue;
  beforeAll(async () => {
    const port = await freePort();
    served = await start({ port, baseUrl: PUBLIC, hosts: ["other.test"], trustProxy: true, ...closed });
  });

  const said = (host: string, more: Record<string, string> = {}) => ({ "x-forwarded-host": host, ...more });
  test.each<[string, Record<string, string>, Expected]>([
    ["its own name", said("files.test"), { url: PUBLIC, prefix: "/files" }],
    ["another name", said("other.test", { "x-forwarded-proto": "https" }), { url: "https://other.test", prefix: "" }],
    [
      "another name and path",
      said("a.evil, other.test:8443", { "x-forwarded-proto": "https", "x-forwarded-prefix": "/a/b/" }),
      { url: "https://other.test:8443/a/b", prefix: "/a/b" },
    ],
    [
      "a path that is none",
      said("other.test", { "x-forwarded-prefix": '//evil"' }),
      { url: "https://other.test", prefix: "" },
    ],
    ["a name that is not ours", said("evil.example"), { url: PUBLIC, prefix: "/files" }],
  ])("that says %s", async (name, headers, { url, prefix }) => {
    const ask = knockAt(served, { host: "127.0.0.1:1", path: "", headers });
    const listed = await ask("PROPFIND", "/dav/docs/", { headers: { depth: "0" } });
    const status = JSON.parse(
      (await ask("GET", "/api/v1/status", { headers: bearer(served.password("operator")) })).text,
    );
    expect([name, hrefs(listed), status.url]).toEqual([name, [`${prefix}/dav/docs/`], url]);
  });
});

test("off loopback a Host that is not ours decides nothing", async () => {
  const port = await freePort();
  const served = await start({ hostname: "0.0.0.0", port, hosts: ["nas.local"], ...closed });
  const credentials = bearer(served.password("operator"));
  const url = async (host: string) =>
    JSON.parse((await served.dav("GET", "/api/v1/status", { headers: { host, ...credentials } })).text).url;
  expect(await url("evil.example")).toBe(`http://0.0.0.0:${port}`);
  expect(await url(`nas.local:${port}`)).toBe(`http://nas.local:${port}`);
  expect(await url("nas.local:99999")).toBe(`http://0.0.0.0:${port}`);
  const link = await served.dav("POST", "/api/v1/run", {
    headers: { host: "evil.example", "content-type": "application/json", ...credentials },
    body: JSON.stringify({ operation: "auth:issue", input: { label: "l", link: true } }),
  });
  expect(JSON.parse(link.text).url).toMatch(new RegExp(`^http://0.0.0.0:${port}/workspace/#`));
});

test("tools over MCP name tickets of the entrance", async () => {
  const port = await freePort();
  const served = await start({
    port,
    hosts: ["nas.local"],
    baseUrl: "http://localhost/x",
    mcp: { tools: "full" },
    ...closed,
  });
  const call = toolCall("file_transfer", { root: "docs", path: "n", direction: "upload" });
  const { headers, body } = httpRequestOf("legacy", { id: 1, ...call });
  const more = { host: `nas.local:${port}`, ...bearer(served.password("operator")) };
  const { text } = await served.dav("POST", "/mcp", { headers: { ...headers, ...more }, body });
  expect(text).toContain(`http://nas.local:${port}/api/v1/files/docs/n?ticket=`);
});

test.each([
  ["/files/api/v1/status", "/files", "/api/v1/status"],
  ["/files", "/files", "/"],
  ["/files?a=/files/b", "/files", "/?a=/files/b"],
  ["/filesystem/a", "/files", "/filesystem/a"],
  ["/api/v1/files/docs/a", "/files", "/api/v1/files/docs/a"],
  ["/files/files/a", "/files", "/files/a"],
  ["/.well-known/mcp/files?x", "/files", "/.well-known/mcp?x"],
  ["/.well-known/mcp", "/files", "/.well-known/mcp"],
  ["/a/b/healthz", "/a/b", "/healthz"],
  ["/files/a", "", "/files/a"],
])("of %s below %s it serves %s", (target, prefix, path) => {
  expect(withoutPrefix(target, prefix)).toBe(path);
});
