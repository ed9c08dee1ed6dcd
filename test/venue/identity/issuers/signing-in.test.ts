import { createHash } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { basic, send, sendAsIs } from "../../../surfaces/http/client.js";
import { type Era, httpRequestOf, toolCall } from "../../../surfaces/mcp/raw.js";
import { type Claims, sign, TestIssuer } from "./issuer.js";
import { ALL, type IssuerInput, IssuerVenue } from "./issuer-venue.js";

let here: IssuerVenue;
beforeEach(() => {
  here = new IssuerVenue();
});
afterEach(() => here.close());

const PLAIN = "/.well-known/oauth-protected-resource";
const scopes = (text: string | undefined) => ({ scope: text });

interface Told {
  readonly status: number;
  readonly challenge: string | null;
}
const told = async (response: Response): Promise<Told> => {
  await response.text();
  return { status: response.status, challenge: response.headers.get("www-authenticate") };
};
const challenge = (scope: string, error?: string) =>
  `Bearer ${error === undefined ? "" : `error="${error}", `}scope="${scope}", resource_metadata="${here.url}${PLAIN}/mcp"`;
/** Asks a venue on a socket, as a proxy does. */
const ask = async (path: string): Promise<Told & { text: string }> => {
  const asked = { path, headers: { host: "files.example.com" } };
  const { status, headers, body } = await sendAsIs({ socketPath: join(here.base, "s") }, asked);
  return { status, challenge: headers["www-authenticate"] ?? null, text: body.toString() };
};
/** A request over MCP. */
const look = (token: string | undefined, request: { method: string; params: object }, era: Era = "legacy") =>
  here.send("/mcp", token, httpRequestOf(era, { id: 1, ...request }));
const tool = (token: string | undefined, name: string, args: object) => look(token, toolCall(name, args));

describe("the metadata of the resource", () => {
  test("name the issuers at both places, for pages of any origin", async () => {
    await here.open();
    for (const path of [PLAIN, `${PLAIN}/mcp`]) {
      const response = await here.send(path, undefined, { headers: { origin: "https://assistant.example" } });
      expect(await response.json()).toEqual({
        resource: here.resource,
        authorization_servers: [here.issuer.url],
        scopes_supported: ["files:read", "files:write", "files:delete"],
      });
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
    }
  });

  test("are not there without issuers, and then nobody is told of them", async () => {
    await here.open({}, { auth: { issuers: [] } });
    for (const path of [PLAIN, `${PLAIN}/mcp`]) expect((await here.send(path, undefined)).status).toBe(404);
    expect((await here.send("/mcp", undefined, { method: "POST" })).headers.get("www-authenticate")).toBe("Bearer");
    expect(await here.read(await here.token())).toBe(401);
  });

  test("of a venue below a path are where the path says, and where RFC 9728 says", async () => {
    await here.open({}, { listen: { socket: "s" }, baseUrl: "https://files.example.com/a/b" });
    const { status, challenge: text } = await ask("/a/b/mcp");
    const named = /resource_metadata="([^"]+)"/.exec(text ?? "")?.[1] ?? "";
    expect([status, named]).toEqual([401, `https://files.example.com/a/b${PLAIN}/mcp`]);
    for (const path of [new URL(named).pathname, `${PLAIN}/a/b/mcp`, `${PLAIN}/mcp`, `/a/b${PLAIN}`, `${PLAIN}/a/b`]) {
      expect(JSON.parse((await ask(path)).text)).toMatchObject({ resource: "https://files.example.com/a/b/mcp" });
    }
    expect((await ask(`${PLAIN}/a/bc/mcp`)).status).toBe(404);
  });
});

test("pages of allowed origins may read where to sign in", async () => {
  await here.open({}, { corsOrigins: ["https://assistant.example"] });
  const response = await here.send("/mcp", undefined, { headers: { origin: "https://assistant.example" } });
  expect(response.status).toBe(401);
  expect(response.headers.get("access-control-expose-headers")).toContain("www-authenticate");
});

describe("a caller without a token", () => {
  test("is told where to sign in wherever public access is off", async () => {
    await here.open();
    const expected = { status: 401, challenge: challenge("files:read") };
    expect(await told(await tool(undefined, "file_read", { path: "a.txt" }))).toEqual(expected);
    expect(await told(await here.send("/mcp", undefined))).toEqual(expected);
    expect(await told(await here.send("/api/v1/operations", undefined))).toEqual(expected);
    const dav = await told(await here.send("/dav/docs/a.txt", undefined));
    expect(dav).toEqual({
      status: 401,
      challenge: `Basic realm="venue-files", charset="UTF-8", ${expected.challenge}`,
    });
  });

  test("is told by /mcp where the public is denied, with what the call needs", async () => {
    await here.open({}, { auth: { public: { enabled: true, caps: [{ with: "file://docs/", can: "crud/read" }] } } });
    expect((await tool(undefined, "file_read", { path: "a.txt" })).status).toBe(200);
    expect(await told(await tool(undefined, "file_write", { path: "b.txt", content: "" }))).toEqual({
      status: 401,
      challenge: challenge("files:read files:write"),
    });
    expect(await told(await tool(undefined, "file_move", { path: "a.txt", to: "b.txt" }))).toEqual({
      status: 401,
      challenge: challenge("files:read files:write files:delete"),
    });
    // Elsewhere a denial is what it was.
    expect(await told(await here.run(undefined, "file:write", { root: "docs", path: "b.txt", content: "" }))).toEqual({
      status: 403,
      challenge: null,
    });
  });

  test("is denied by /mcp as ever where nobody signs in elsewhere", async () => {
    await here.open({}, { auth: { public: { enabled: true, caps: [] }, issuers: [] } });
    expect(await told(await tool(undefined, "file_read", { path: "a.txt" }))).toEqual({ status: 200, challenge: null });
  });
});

describe("a token without the scopes of a call", () => {
  const write = { root: "docs", path: "b.txt", content: "beta" };
  const more = (scope: string) => ({ status: 403, challenge: challenge(scope, "insufficient_scope") });

  test("is answered 403 with all that the call needs, on every endpoint", async () => {
    await here.open();
    const token = await here.token(scopes("openid files:read"));
    const [both, all] = [more("files:read files:write"), more("files:read files:write files:delete")];
    expect(await told(await here.run(token, "file:write", write))).toEqual(both);
    expect(await told(await here.run(token, "file:move", { root: "docs", path: "a.txt", to: "b.txt" }))).toEqual(all);
    expect(await told(await tool(token, "file_write", write))).toEqual(both);
    expect(await told(await tool(token, "file_move", { path: "a.txt", to: "b.txt" }))).toEqual(all);
    const call = { operation: "file:write", input: write };
    expect(await told(await here.send("/api/v1/invoke", token, { json: call }))).toEqual(both);
    expect(await told(await here.send("/api/v1/files/docs/b.txt", token, { method: "PUT", body: "" }))).toEqual(both);
    expect(await told(await here.send("/dav/docs/b.txt", token, { method: "PUT", body: "" }))).toEqual(both);
    expect(await told(await here.send("/dav/docs/a.txt", token, { method: "DELETE" }))).toEqual(
      more("files:read files:delete"),
    );
    expect(await told(await look(token, toolCall("file_write", write), "modern"))).toEqual(both);
    expect(await here.read(token)).toBe(200);
    expect(await here.read(await here.token())).toBe(200);
  });

  test("to read is told so before anything is looked at: by the scopes alone, whatever there is", async () => {
    await here.open({ map: [{ when: {}, caps: [{ with: "file://docs/in/", can: "crud" }] }] });
    const [onlyWrite, ofDocs] = [await here.token(scopes("files:write")), await here.token(scopes("files:docs:read"))];
    const ref = { type: "ref/resource", uri: "venue://{root}/{+path}" };
    const complete = (name: string, root?: string) => ({
      ...{ ref, argument: { name, value: "" } },
      ...(root === undefined ? {} : { context: { arguments: { root } } }),
    });
    const uris = ["docs/a.txt", "docs/in/a", "docs/none", "none/", "none/a"].map((path) => `venue://${path}`);
    const lacking = more("files:write files:read");
    for (const era of ["modern", "legacy"] as const) {
      const looks: readonly (readonly [string, object])[] = [
        ...uris.map((uri) => ["resources/read", { uri }] as const),
        ...[["resources/list", {}] as const, ["completion/complete", complete("root")] as const],
        ["completion/complete", complete("path", "docs")],
      ];
      for (const [method, params] of looks) {
        expect(await told(await look(onlyWrite, { method, params }, era))).toEqual(lacking);
      }
      const bodies = uris.slice(0, 4).map(async (uri) => {
        const answer = await (await look(onlyWrite, { method: "resources/read", params: { uri } }, era)).json();
        return JSON.stringify(answer).replace(uri, "");
      });
      expect(new Set(await Promise.all(bodies)).size).toBe(1);
      // Another root than those of its scopes, whether it is there or not.
      const params = { uri: "venue://none/a" };
      expect(await told(await look(ofDocs, { method: "resources/read", params }, era))).toEqual(
        more("files:docs:read files:read"),
      );
      // Where scopes are not what is missing, one answer as ever.
      for (const uri of uris.slice(0, 3)) {
        const response = await look(ofDocs, { method: "resources/read", params: { uri } }, era);
        expect(response.headers.get("www-authenticate")).toBeNull();
        expect((await response.json()) as object).toMatchObject({
          error: { code: era === "modern" ? -32602 : -32002, data: { uri } },
        });
      }
      for (const request of [
        { method: "resources/list", params: {} },
        { method: "completion/complete", params: complete("path", "docs") },
      ]) {
        expect(await told(await look(ofDocs, request, era))).toEqual({ status: 200, challenge: null });
      }
    }
  });

  test("to read is told so by the files' own addresses and over WebDAV", async () => {
    await here.open();
    const token = await here.token(scopes("files:write"));
    for (const path of ["/api/v1/files/docs/a.txt", "/api/v1/files/docs/none", "/dav/docs/a.txt"])
      expect(await told(await here.send(path, token))).toEqual(more("files:write files:read"));
  });

  test("says the scope to a model too", async () => {
    await here.open();
    const token = await here.token(scopes("files:read"));
    const { error, errorData } = (await (await here.run(token, "file:write", write)).json()) as Record<string, never>;
    expect(error).toMatch(/Sign in again, with the scope files:write\.$/);
    expect(errorData).toMatchObject({ reasons: ["missing_scope"] });
  });

  test("is told so too where it may see no root for want of one", async () => {
    await here.open({ map: [{ when: {}, caps: [{ with: "file://docs/in/", can: "crud" }] }] });
    const token = await here.token(scopes("files:write"));
    expect(await told(await here.run(token, "file:roots", {}))).toEqual(more("files:write files:read"));
    expect(await told(await tool(token, "file_roots", {}))).toEqual(more("files:write files:read"));
  });

  test("of one root keeps them in what it asks for", async () => {
    await here.open();
    const token = await here.token(scopes("files:docs:read"));
    expect(await here.read(token)).toBe(200);
    expect(await told(await here.run(token, "file:write", write))).toEqual(more("files:docs:read files:write"));
  });

  test("that would not have the right with it is denied as ever, and so is a call that is narrowed", async () => {
    await here.open({ map: [{ when: {}, caps: [{ with: "file://docs/", can: "crud/read" }] }] });
    const token = await here.token(scopes("files:read"));
    const denied = { status: 403, challenge: null };
    expect(await told(await here.run(token, "file:write", write))).toEqual(denied);
    expect(await told(await tool(token, "file_write", write))).toEqual({ status: 200, challenge: null });
    expect((await told(await here.send("/dav/docs/b.txt", token, { method: "PUT", body: "" }))).challenge).toBeNull();
    const onlyWrite = await here.token(scopes("files:write"));
    const json = { operation: "file:read", input: { root: "docs", path: "a.txt" }, caps: [] };
    expect(await told(await here.send("/api/v1/run", onlyWrite, { json }))).toEqual(denied);
  });
});

test("auth:whoami tells when the token ends", async () => {
  await here.open();
  const exp = Math.floor(Date.now() / 1000) + 1000;
  expect(await (await here.run(await here.token({ exp }), "auth:whoami", {})).json()).toMatchObject({ expires: exp });
});

describe("what a token gives", () => {
  const held = async (claims: Claims, map: IssuerInput["map"]): Promise<string[]> => {
    await here.open({ map });
    const response = await here.run(await here.token(claims), "auth:whoami", {});
    const { grants } = (await response.json()) as { grants: { with: string; can: string }[] };
    return grants.map(({ with: resource, can }) => `${can} ${resource}`);
  };
  const on = (root: string, can: string) => [{ with: `file://${root}`, can }];
  const everything = (when: Record<string, string>) => [{ when, caps: [ALL] }];
  const READ = ["crud/read file://"];

  test.each<[string, string[], Claims, IssuerInput["map"]]>([
    ["reading without scopes", READ, {}, everything({})],
    ["reading without a scope about files", READ, scopes("openid email"), everything({})],
    ["reading with an empty scope", READ, scopes(""), everything({})],
    ["nothing by a scope about files that there is not", [], scopes("files:admin"), everything({})],
    [
      "what two scopes say",
      ["crud/read file://", "crud/delete file://"],
      scopes("files:read files:delete"),
      everything({}),
    ],
    ["what scp says", ["crud/write file://"], { scp: "files:write" }, everything({})],
    ["what scp says as a list", ["crud/write file://"], { scp: ["files:write", 7] }, everything({})],
    ["what scope says where scp says more", READ, { scope: "files:read", scp: ["files:write"] }, everything({})],
    ["one root by its scope", ["crud/read file://docs/"], scopes("files:docs:read"), everything({})],
    [
      "what the map says and no more",
      ["crud/read file://docs/"],
      scopes("files:read files:write"),
      [{ when: {}, caps: on("docs/", "crud/read") }],
    ],
    [
      "a folder",
      ["crud/write file://docs/in/"],
      scopes("files:docs:write"),
      [{ when: {}, caps: on("docs/in/", "crud") }],
    ],
    ["nothing of another root", [], scopes("files:other:read"), [{ when: {}, caps: on("docs/", "crud") }]],
    ["no commands and no approving", READ, {}, [{ when: {}, caps: [...on("", "*"), ...on("", "approve")] }]],
    [
      "what all entries that fit say",
      ["crud/read file://docs/a/", "crud/read file://docs/b/"],
      { a: "1" },
      [
        { when: {}, caps: on("docs/a/", "crud") },
        { when: { a: "1" }, caps: on("docs/b/", "crud") },
        { when: { a: "2" }, caps: on("docs/c/", "crud") },
      ],
    ],
    ["by a claim", READ, { team: "a" }, everything({ team: "a" })],
    ["by a claim whose list has it", READ, { team: ["b", "a"] }, everything({ team: "a" })],
    ["nothing by the beginning of a claim", [], { team: "ab" }, everything({ team: "a" })],
    ["nothing by a claim in other case", [], { team: "A" }, everything({ team: "a" })],
    ["nothing by a list within a list", [], { team: [["a"]] }, everything({ team: "a" })],
    ["nothing by a claim that is a number", [], { team: 1 }, everything({ team: "1" })],
    ["nothing without the claim", [], {}, everything({ team: "a" })],
    ["nothing by what every object has", [], {}, everything({ constructor: "Object" })],
    ["nothing where one of two claims is missing", [], { team: "a" }, everything({ team: "a", role: "b" })],
    ["by two claims", READ, { team: "a", role: "b" }, everything({ team: "a", role: "b" })],
    [
      "by an address that is verified",
      READ,
      { email: "a@b.example", email_verified: true },
      everything({ email: "a@b.example" }),
    ],
    ["nothing by an address that is not verified", [], { email: "a@b.example" }, everything({ email: "a@b.example" })],
    [
      "nothing by an address that is said to be verified",
      [],
      { email: "a@b.example", email_verified: "true" },
      everything({ email: "a@b.example" }),
    ],
  ])("%s", async (_what, expected, claims, map) => {
    expect(await held(claims, map)).toEqual(expected);
  });

  test("is nothing that everybody has, nor what a grant gives to its DID", async () => {
    const did = (venue: string) => {
      const hash = createHash("sha256").update(`${here.issuer.url}\0ann`).digest("hex").slice(0, 32);
      return `${venue}:sub:${hash}`;
    };
    const map = [{ when: { team: "a" }, caps: [ALL] }];
    const grants = [{ did: did("did:web:a.example"), ...ALL }];
    await here.issuer.listen();
    grants[0] = { did: did("did:web:a.example"), ...ALL };
    await here.open({ map }, { did: "did:web:a.example", auth: { public: { enabled: true, caps: [ALL] }, grants } });
    expect(await here.read(undefined)).toBe(200);
    expect(await here.read(await here.token())).toBe(403);
    const me = (await (await here.run(await here.token(), "auth:whoami", {})).json()) as Record<string, unknown>;
    expect(me).toMatchObject({ did: did(here.did), authentication: "issuer", operator: false, grants: [] });
  });
});

describe("callers of issuers", () => {
  test("are told apart by issuer and name", async () => {
    const other = await new TestIssuer().listen();
    await here.issuer.listen();
    const map = [{ when: {}, caps: [ALL] }];
    await here.open({}, { auth: { issuers: [here.issuer, other].map(({ url }) => ({ issuer: url, map })) } });
    const didOf = async (token: string) =>
      ((await (await here.run(token, "auth:whoami", {})).json()) as { did: string }).did;
    const ofOther = (claims: Claims = {}) => sign(other.key, { iss: other.url, aud: here.resource, ...claims });
    const dids = [await here.token(), await here.token({ sub: "bob" }), await ofOther()].map(didOf);
    expect(new Set(await Promise.all(dids)).size).toBe(3);
    // Signed by one, in the name of the other.
    expect(await here.read(await ofOther({ iss: here.issuer.url }))).toBe(401);
    expect(await here.read(await sign(here.issuer.key, { iss: other.url, aud: here.resource }))).toBe(401);
    await other.close();
  });

  test("see no jobs of the same caller with other scopes", async () => {
    await here.open();
    const [reader, writer] = [await here.token(scopes("files:read")), await here.token(scopes("files:write"))];
    const json = { operation: "file:read", input: { root: "docs", path: "a.txt" } };
    const started = await here.send("/api/v1/invoke", reader, { json });
    const { id } = (await started.json()) as { id: string };
    expect((await here.send(`/api/v1/jobs/${id}`, reader)).status).toBe(200);
    expect((await here.send(`/api/v1/jobs/${id}`, writer)).status).toBe(403);
  });

  test("see nothing that the same caller asks for with other scopes", async () => {
    await here.open({}, { file: { roots: { docs: { path: "docs", approve: { for: ["all"] } } } } });
    const [writer, reader] = [await here.token(scopes("files:write")), await here.token(scopes("files:other:read"))];
    const input = { root: "docs", path: "secret-name.txt", content: "" };
    const asked = (await (await here.run(writer, "file:write", input)).json()) as {
      errorCode: string;
      errorData: { id: string };
    };
    expect(asked.errorCode).toBe("APPROVAL_REQUIRED");
    const listed = async (token: string) => (await here.run(token, "approval:list", {})).text();
    expect(await listed(writer)).toContain("secret-name.txt");
    expect(await listed(await here.token({ ...scopes("files:write"), jti: "next" }))).toContain("secret-name.txt");
    expect(JSON.parse(await listed(reader))).toMatchObject({ approvals: [] });
  });

  test("issue nothing, and are nobody's operator", async () => {
    await here.open({ map: [{ when: {}, caps: [{ with: "file://", can: "*" }] }] });
    const token = await here.token(scopes("files:read files:write files:delete"));
    expect((await here.run(token, "auth:issue", { label: "a", caps: [ALL] })).status).toBe(403);
    expect((await here.run(token, "auth:issue", { label: "a" })).status).toBe(403);
    const list = (await (await here.run(token, "auth:list", {})).json()) as { entries: { kind: string }[] };
    expect(list.entries.map(({ kind }) => kind)).toEqual(["issuer"]);
  });

  test("are known by 256 tokens each: who has more takes no place of others", async () => {
    await here.open();
    const { authenticate, rejudge } = here.opened.access;
    const contextOf = async (claims: Claims) => {
      const result = await authenticate(`Bearer ${await here.token(claims)}`);
      if (!("caller" in result)) throw new Error(result.refused);
      const { did: callerDID, credential, access } = result.caller;
      return { callerDID, authentication: "issuer", credential, access } as const;
    };
    const other = await contextOf({ sub: "bob" });
    const own = [];
    for (let jti = 0; jti < 258; jti += 1) {
      own.push(await contextOf({ jti: `${jti}` }));
      // It is in use.
      if (own[1] !== undefined) expect(rejudge(own[1])).toBeDefined();
    }
    expect([own[0], own[1], own[2], own[3], own[257], other].map((one) => one && rejudge(one) !== undefined)).toEqual([
      ...[false, true, false],
      ...[true, true, true],
    ]);
  });

  test("mount folders with their token as password", async () => {
    await here.open({}, { webdav: {} });
    const response = await send(`${here.url}/dav/docs/a.txt`, { headers: basic(await here.token(), "ann") });
    expect([response.status, await response.text()]).toEqual([200, "alpha"]);
  });
});

test("a slow issuer delays nobody else, and its own callers five seconds", async () => {
  const slow = await new TestIssuer().listen();
  slow.serve("/.well-known/oauth-authorization-server", () => {});
  await here.issuer.listen();
  const map = [{ when: {}, caps: [ALL] }];
  await here.open({}, { auth: { issuers: [here.issuer, slow].map(({ url }) => ({ issuer: url, map })) } });
  const fast = await here.token();
  expect(await here.read(fast)).toBe(200);
  const token = await sign(slow.key, { iss: slow.url, aud: here.resource });
  let ended = 0;
  const waiting = Array.from({ length: 20 }, () => here.run(token, "file:roots", {}).finally(() => ended++));
  while (slow.paths.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  expect([await here.read(fast), ended]).toEqual([200, 0]);
  for (let count = 0; count < 20; count++) expect(await here.read(fast)).toBe(200);
  expect(await here.read(await here.token({ sub: "bob" }))).toBe(200);
  const answers = await Promise.all(waiting);
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(503));
  expect(Number(answers[0]?.headers.get("retry-after"))).toBeGreaterThan(20);
  // At once now.
  expect((await here.run(token, "file:roots", {})).status).toBe(503);
  expect(slow.paths.length).toBe(1);
  await slow.close();
});

test("nothing of a token is logged or answered", async () => {
  await here.open({ map: [{ when: { secret: "claimZq7" }, caps: [ALL] }] });
  const secret = { sub: "subjectZq7", secret: "claimZq7", email: "mailZq7@b.example", jti: "jtiZq7" };
  const good = await here.token(secret);
  const bad = [
    await here.token({ ...secret, aud: "audZq7" }),
    await here.token({ ...secret, exp: 1 }, { kid: "kidZq7" }),
  ];
  const texts: string[] = [];
  for (const token of [good, ...bad]) {
    const response = await here.run(token, "auth:whoami", {});
    texts.push(await response.text(), JSON.stringify([...response.headers]));
  }
  texts.push(await (await here.run(here.opened.access.localToken, "auth:list", {})).text());
  const all = [...texts, ...here.logged].join("\n");
  expect(here.logged.filter((line) => line.startsWith("Bearer token refused")).length).toBe(2);
  for (const part of [...[good, ...bad].flatMap((token) => token.split(".")), "Zq7"]) {
    expect(all).not.toContain(part);
  }
});
