// The page over plain HTTP: what is served to whom, with which headers. `npm run build` has made dist/web.
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createVenue, type Venue, type VenueConfigInput } from "../../src/index.js";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const manifest = JSON.parse(readFileSync(new URL("../../dist/web/manifest.json", import.meta.url), "utf8")) as {
  assets: Record<string, string>;
};
const script = Object.keys(manifest.assets).find((name) => /^app-.*\.js$/.test(name)) ?? "";
const venues: Venue[] = [];
let folder: string;
let served: Venue;

/** A venue that has another name outside; it listens on a socket. */
const openBehindProxy = async (config: VenueConfigInput): Promise<{ readonly socketPath: string }> => {
  const socketPath = join(folder, `${venues.length}.sock`);
  const venue = await createVenue({ listen: { socket: socketPath }, stateDir: false, ...config }, { baseDir: folder });
  venues.push(venue);
  await venue.listen();
  return { socketPath };
};

const open = async (config: VenueConfigInput = {}): Promise<Venue> => {
  const venue = await createVenue({ hostname: "127.0.0.1", port: 0, stateDir: false, ...config }, { baseDir: folder });
  venues.push(venue);
  await venue.listen();
  return venue;
};

function get(
  venue: Venue | { readonly socketPath: string },
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const target = "url" in venue ? new URL(venue.url) : venue;
    const sent = request(
      { ...("port" in target ? { host: target.hostname, port: target.port } : target), path, method, headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Record<string, string>,
            body: Buffer.concat(chunks),
          }),
        );
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  served = await open();
});
afterAll(async () => {
  await Promise.all(venues.map((venue) => venue.close()));
  rmSync(folder, { recursive: true, force: true });
});

const POLICY = [
  "default-src 'none'",
  "script-src 'nonce-N'",
  "style-src 'nonce-N'",
  "img-src 'self' blob:",
  "media-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");
const PREVIEW_POLICY = [
  "sandbox allow-scripts",
  "default-src 'none'",
  "script-src 'nonce-N'",
  "style-src 'unsafe-inline'",
  "img-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types dompurify",
].join("; ");

const nonceOf = ({ headers }: Answer): string =>
  /'nonce-([\w-]+)'/.exec(headers["content-security-policy"] ?? "")?.[1] ?? "";
const policyOf = (answer: Answer): string =>
  (answer.headers["content-security-policy"] ?? "").replaceAll(nonceOf(answer), "N");

describe("the page", () => {
  test.each([
    "/workspace",
    "/workspace/",
    "/workspace/files/docs/a%20b.md",
    "/workspace/changes/x/",
    "/workspace/?q=1",
  ])("is answered at %s, to anybody, with its policy", async (path) => {
    const answer = await get(served, path);
    expect(answer.status).toBe(200);
    expect(policyOf(answer)).toBe(POLICY);
    expect(answer.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
      "x-frame-options": "DENY",
      "permissions-policy": expect.stringContaining("clipboard-write=(self)"),
    });
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expect(`${answer.body}`).toContain(`nonce="${nonceOf(answer)}"`);
  });

  test("has 128 fresh bits in each nonce", async () => {
    const nonces = await Promise.all(Array.from({ length: 20 }, async () => nonceOf(await get(served, "/workspace/"))));
    expect(new Set(nonces).size).toBe(20);
    for (const nonce of nonces) expect(Buffer.from(nonce, "base64url")).toHaveLength(16);
  });

  test("holds no script or style but its own, and no placeholder", async () => {
    const text = `${(await get(served, "/workspace/")).body}`;
    expect(text).not.toMatch(/%\w+%/);
    expect(text.match(/<script|<style|\son\w+=/g)).toEqual(["<script"]);
  });

  test("names its assets below the path of baseUrl", async () => {
    const venue = await openBehindProxy({
      ...{ baseUrl: "http://localhost/venue", hosts: ["nas.local"], workspace: true },
      auth: { public: { enabled: false } },
    });
    const answer = await get(venue, "/venue/workspace/");
    const text = `${answer.body}`;
    expect(`${(await get(venue, "/workspace/", { host: "nas.local" })).body}`).toContain('data-base="/workspace/"');
    expect(text).toContain('data-base="/venue/workspace/"');
    expect(text).toContain(`src="/venue/workspace/assets/${script}"`);
    // What the script imports is asked for beside it.
    const imports = [
      ...`${brotliDecompressSync(readFileSync(new URL(`../../dist/web/assets/${script}.br`, import.meta.url)))}`.matchAll(
        /(?:from|import)"\.\/([^"]+)"/g,
      ),
    ].map(([, name]) => name);
    expect(imports.length).toBeGreaterThan(0);
    for (const name of imports)
      expect(text).toContain(
        `<link rel="modulepreload" nonce="${nonceOf(answer)}" href="/venue/workspace/assets/${name}">`,
      );
  });
});

describe("the preview", () => {
  test("is a document of an opaque origin without network", async () => {
    const answer = await get(served, "/workspace/preview");
    expect([answer.status, policyOf(answer)]).toEqual([200, PREVIEW_POLICY]);
    expect(answer.headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    // Only the page may frame it; X-Frame-Options could not say so.
    expect(answer.headers["x-frame-options"]).toBeUndefined();
    const text = `${answer.body}`;
    expect(text).toContain(`<script nonce="${nonceOf(answer)}">`);
    expect(text.match(/<script|<\/script|<!--/g)).toEqual(["<script", "</script"]);
    expect(answer.body.length).toBeLessThan(150 * 1024);
  });
});

describe("assets", () => {
  const path = `/workspace/assets/${script}`;
  test.each(["br", "gzip, deflate, br", "br;q=1.0, gzip", "gzip;q=0.5, br;q=0.1"])(
    "come compressed to %s",
    async (accepts) => {
      const answer = await get(served, path, { "accept-encoding": accepts });
      expect(answer.headers).toMatchObject({
        "content-encoding": "br",
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": "public, max-age=31536000, immutable",
        vary: "Accept-Encoding",
      });
      expect(`${brotliDecompressSync(answer.body)}`).toContain("/api/v1/");
    },
  );

  test.each(["", "gzip", "br;q=0", "brotli", "x-br"])("come plain to '%s'", async (accepts) => {
    const answer = await get(served, path, accepts === "" ? {} : { "accept-encoding": accepts });
    expect(answer.headers["content-encoding"]).toBeUndefined();
    expect(`${answer.body}`).toContain("/api/v1/");
  });

  test.each(["nope.js", "", "..%2fmanifest.json", "../index.html.br", "__proto__", "constructor"])(
    "there is no %s",
    async (name) => {
      const answer = await get(served, `/workspace/assets/${name}`);
      if (answer.status === 200) expect(policyOf(answer)).toBe(POLICY);
      else expect(answer.status).toBe(404);
    },
  );
});

describe("GET /", () => {
  test("leads browsers to the page", async () => {
    const answer = await get(served, "/", { accept: "text/html,application/xhtml+xml" });
    expect([answer.status, answer.headers["location"]]).toEqual([303, "/workspace/"]);
  });

  test.each([
    ["GET", { accept: "application/json" }],
    ["GET", {}],
    ["POST", { accept: "text/html" }],
  ] as const)("is no endpoint to others: %s %j", async (method, headers) => {
    const answer = await get(served, "/", headers, method);
    expect([answer.status, `${answer.body}`]).toEqual([404, `{"error":"Endpoint ${method} / not found"}`]);
  });
});

describe("where it is off", () => {
  const proxied = { baseUrl: "https://files.example.com", auth: { public: { enabled: false } } };
  test.each([
    ["by configuration", { workspace: false }],
    ["off loopback, unless it is asked for", proxied],
  ] as [string, VenueConfigInput][])("%s", async (_, config) => {
    const venue = await openBehindProxy(config);
    for (const path of ["/workspace/", "/workspace/preview", `/workspace/assets/${script}`, "/"]) {
      const { status } = await get(venue, path, { accept: "text/html" });
      expect([path, status]).toEqual([path, 404]);
    }
  });

  test("off loopback it is served when it is asked for, without a credential", async () => {
    const venue = await openBehindProxy({ ...proxied, workspace: { drafts: false } });
    const answer = await get(venue, "/workspace/");
    expect(answer.status).toBe(200);
    expect(`${answer.body}`).toContain('data-drafts="off"');
  });
});
