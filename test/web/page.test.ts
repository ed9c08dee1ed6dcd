import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createVenue, type Venue, type VenueConfigInput } from "../../src/index.js";
import { isLookOfPage, type Viewer } from "../../web/src/activity/looks.js";
import { isPlace, moved, type Part, partsOf, separatorOf } from "../../web/src/editor/merge.js";
import { type Key, TypeAhead } from "../../web/src/ui/type-ahead.js";
import { type RawAnswer, sendAsIs } from "../surfaces/http/client.js";

// Which calls the activity takes for look-ups of a page.
const SESSION = "5".repeat(32);
const OTHER_SESSION = "6".repeat(32);
const AGENT = "a".repeat(32);
const PROCESS = "p0123456789abcdef";
const ALICE = "did:key:z6Mk:token:alice";

const isLook = (record: Partial<Parameters<typeof isLookOfPage>[0]>, me: Viewer | undefined) =>
  isLookOfPage(
    { operation: "file:list", outcome: "OK", caller: ALICE, via: SESSION, ...record },
    me,
    (via) => via === OTHER_SESSION,
  );
const bySession: Viewer = { did: ALICE, via: SESSION };
const byPasted: Viewer = { did: ALICE };

test.each<[string, Parameters<typeof isLook>[0], Viewer | undefined, boolean]>([
  ["by the session of the page", {}, bySession, true],
  ["by the session of somebody else's page", { via: OTHER_SESSION, caller: "did:key:other" }, bySession, true],
  ["by the token that was pasted into the page", { via: PROCESS }, byPasted, true],
  ["of events, by the page", { operation: "file:watch" }, bySession, true],
  ["by an agent with a token of its own", { via: AGENT, caller: "did:key:z6Mk:access:a" }, bySession, false],
  ["by an agent of the operator on this machine", { via: PROCESS, caller: "operator" }, bySession, false],
  ["by an agent with the same static token, while the page has a session", { via: PROCESS }, bySession, false],
  ["by an agent's token, where nobody is signed in", { via: AGENT }, undefined, false],
  ["that was denied", { outcome: "CAPABILITY_DENIED" }, bySession, false],
  ["at an address that is a folder's", { operation: "file:read", outcome: "IS_A_DIRECTORY" }, bySession, true],
  ["at a folder by an agent", { operation: "file:read", outcome: "IS_A_DIRECTORY", via: AGENT }, bySession, false],
  ["that is a change of a folder", { operation: "file:write", outcome: "IS_A_DIRECTORY" }, bySession, false],
  ["that is a change", { operation: "file:write" }, bySession, false],
  ["that is an operation of later versions", { operation: "file:ponder" }, bySession, false],
])("a call %s", (_what, record, me, expected) => {
  expect(isLook(record, me)).toBe(expected);
});

// Merging three versions of a text by lines, as the page does when two saved one file.
const merge = (mine: string, before: string, theirs: string) =>
  partsOf(mine.split(" "), before.split(" "), theirs.split(" "));
const placesOf = (parts: readonly Part[]) => parts.filter(isPlace);
const takeAll = (parts: readonly Part[], side: "mine" | "theirs") =>
  parts.flatMap((part) => (isPlace(part) ? part[side] : part));

describe("the parts of a merge", () => {
  test.each([
    ["changes of different lines", "A b c d", "a b c d", "a b c D", ["mine", "theirs"]],
    ["changes of one line", "A b c", "a b c", "X b c", ["both"]],
    ["both the same change", "A b c", "a b c", "A b c", []],
    ["lines that touch", "a B c d", "a b c d", "a b C d", ["both"]],
    ["one takes away what the other changes", "a d", "a b c d", "a b C d", ["both"]],
    ["lines added at both ends", "x a b", "a b", "a b y", ["mine", "theirs"]],
    ["different lines added at one place", "a x b", "a b", "a y b", ["both"]],
    ["nothing alike", "x y", "a b", "p q r", ["both"]],
  ])("%s", (_what, mine, before, theirs, by) => {
    expect(placesOf(merge(mine, before, theirs)).map((place) => place.by)).toEqual(by);
  });

  test("whoever did not change a place has what was before", () => {
    const [first, second] = placesOf(merge("A b c d", "a b c d", "a b d"));
    expect(first).toEqual({ mine: ["A"], theirs: ["a"], before: ["a"], by: "mine" });
    expect(second).toEqual({ mine: ["c"], theirs: [], before: ["c"], by: "theirs" });
  });

  const lines = fc.array(fc.constantFrom("", "a", "b", "c", "}"), { maxLength: 12 });

  test("taken from one side everywhere they are that side, and places have agreed lines in between", () => {
    fc.assert(
      fc.property(lines, lines, lines, (mine, before, theirs) => {
        const parts = partsOf(mine, before, theirs);
        expect(takeAll(parts, "mine")).toEqual(mine);
        expect(takeAll(parts, "theirs")).toEqual(theirs);
        expect(parts.map(isPlace)).toEqual(parts.map((_, index) => index % 2 === 1));
        expect(parts.length % 2).toBe(1);
        for (const [index, part] of parts.entries())
          if (index % 2 === 0 && index > 0 && index < parts.length - 1) expect(part).not.toHaveLength(0);
      }),
    );
  });

  test("100,000 lines of which many are alike and all were touched take no minutes", () => {
    const before = Array.from({ length: 100_000 }, (_, index) => (index % 3 === 0 ? "" : `line ${index}`));
    const mine = before.map((line) => (line === "" ? "" : `${line} mine`));
    expect(placesOf(partsOf(mine, before, [...before, "theirs"]))).not.toEqual([]);
  });
});

describe("a position in another version", () => {
  test.each([
    ["above it lines came", 4, "a\nb\ncde", "new\na\nb\ncde", 8],
    ["above it lines went", 4, "a\nb\ncde", "b\ncde", 2],
    ["its own line was changed", 5, "a\nb\ncde", "a\nb\ncx", 5],
    ["its own line is gone", 5, "a\nb\ncde\nf", "a\nb\nf", 4],
    ["it was at the end of what is gone", 3, "a\nbc", "a", 1],
    ["nothing changed", 2, "ab\nc", "ab\nc", 2],
    ["all is gone", 3, "ab\nc", "", 0],
  ])("%s", (_what, position, before, after, expected) => {
    expect(moved(position, before, after)).toBe(expected);
  });

  test("lies in the text, whatever became of it", () => {
    const text = fc.array(fc.constantFrom("", "a", "bc", "def"), { maxLength: 8 }).map((all) => all.join("\n"));
    fc.assert(
      fc.property(text, text, fc.nat(40), (before, after, at) => {
        const found = moved(Math.min(at, before.length), before, after);
        expect(found).toBeGreaterThanOrEqual(0);
        expect(found).toBeLessThanOrEqual(after.length);
      }),
    );
  });
});

test.each([
  ["a\r\nb\r\n", "\r\n"],
  ["a\r\nb\n", "\n"],
  ["a\nb", "\n"],
  ["a", "\n"],
])("the line ends of %j are %j", (text, separator) => {
  expect(separatorOf(text)).toBe(separator);
});

// What the page costs to load, and what it adds to the package. `npm run build` has made dist/web.
const DIST = fileURLToPath(new URL("../../dist/web/", import.meta.url));
const KB = 1024;

const plain = (path: string): Buffer => brotliDecompressSync(readFileSync(`${DIST}${path}.br`));
const gzip = (path: string): number => gzipSync(plain(path), { level: 9 }).length;

/** A script with all that it imports at once, not on demand. */
function withImports(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const [, imported = ""] of `${plain(`assets/${name}`)}`.matchAll(/(?:from|import)"\.\/([^"]+)"/g))
    withImports(imported, seen);
  return seen;
}

describe("sizes of the workspace page", () => {
  let assets: readonly string[];
  let first: readonly string[];
  beforeAll(() => {
    const manifest = JSON.parse(readFileSync(`${DIST}manifest.json`, "utf8")) as { assets: Record<string, string> };
    assets = Object.keys(manifest.assets);
    const script = assets.find((name) => /^app-.*\.js$/.test(name)) ?? "";
    first = [...withImports(script), ...assets.filter((name) => /^app-.*\.css$/.test(name))];
  });

  test("the first load is at most 120 KB (gzip)", () => {
    expect(first.length).toBeGreaterThan(1);
    const bytes = gzip("index.html") + first.map((name) => gzip(`assets/${name}`)).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThan(120 * KB);
  });

  test("all but the languages of the editor is at most 350 KB (gzip)", () => {
    const codemirror = assets.find((name) => /^codemirror-.*\.js$/.test(name)) ?? "";
    const diff = assets.find((name) => /^diff-view-.*\.js$/.test(name)) ?? "";
    const all = new Set([...first, ...withImports(codemirror), ...withImports(diff)]);
    const bytes = [...all].map((name) => gzip(`assets/${name}`)).reduce((sum, size) => sum + size, 0);
    expect(bytes + gzip("preview.html") + gzip("index.html")).toBeLessThan(350 * KB);
  });

  test("the package holds it compressed alone, in at most 450 KB", () => {
    const files = readdirSync(DIST, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.filter(({ name }) => !/\.br$|^manifest\.json$|^LICENSES\.md$/.test(name))).toEqual([]);
    const bytes = files
      .map(({ parentPath, name }) => statSync(`${parentPath}/${name}`).size)
      .reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThan(450 * KB);
  });

  test("the licence of each package that is bundled comes with it", () => {
    const text = readFileSync(`${DIST}LICENSES.md`, "utf8");
    for (const name of ["preact", "@codemirror/view", "dompurify", "lucide", "micromark", "node-diff3"])
      expect(text).toContain(`## ${name} `);
    expect(text).not.toContain("holds no licence text");
  });
});

// Typing in a list of the page: which key is part of a word, and where the word leads.
const NAMES = ["docs", "Übung", "draft one", "draft two", "Éclair", "notes", "zoo"];

const press = (key: string, timeStamp: number, held: Partial<Key> = {}): Key => ({
  ...{ key, timeStamp, ctrlKey: false, metaKey: false, altKey: false },
  ...held,
});

/** Types keys 100 ms apart. @returns the entry with the focus after each */
function typeIn(names: readonly string[], keys: readonly string[], active = 0, pause = 100): string[] {
  const typing = new TypeAhead();
  let at = active;
  return keys.map((key, index) => {
    if (typing.takes(press(key, index * pause))) at = typing.find(names, at) ?? at;
    return names[at] ?? "";
  });
}

test.each<[string, string[], string[]]>([
  ["a character goes to the next that begins so", ["n"], ["notes"]],
  ["the same again goes on, and round", ["d", "d", "d"], ["draft one", "draft two", "docs"]],
  ["a word goes to what begins with all of it", ["d", "o"], ["draft one", "docs"]],
  [
    "a space within a word is part of it",
    ["d", "r", "a", "f", "t", " ", "t"],
    [...Array(6).fill("draft one"), "draft two"],
  ],
  ["case and accents make no difference", ["u"], ["Übung"]],
  ["nor where they are typed", ["Shift", "Ü", "B"], ["docs", "Übung", "Übung"]],
  ["what is nowhere moves nothing", ["x"], ["docs"]],
])("%s", (_what, keys, expected) => {
  expect(typeIn(NAMES, keys)).toEqual(expected);
});

test("a pause begins another word", () => {
  expect(typeIn(NAMES, ["d", "n"], 0, 100).at(-1)).toBe("draft one");
  expect(typeIn(NAMES, ["d", "n"], 0, 5000).at(-1)).toBe("notes");
});

test("keys with a modifier, keys that move, and a space by itself are no part of a word", () => {
  const typing = new TypeAhead();
  expect(typing.takes(press(" ", 0))).toBe(false);
  for (const held of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }])
    expect(typing.takes(press("n", 0, held))).toBe(false);
  for (const key of ["ArrowDown", "Enter", "Delete", "F2"]) expect(typing.takes(press(key, 0))).toBe(false);
  expect(typing.find(NAMES, 0)).toBeUndefined();
  expect(typing.find([], 0)).toBeUndefined();
});

test("a word that was begun ends at a key that moves", () => {
  const typing = new TypeAhead();
  typing.takes(press("d", 0));
  typing.takes(press("ArrowDown", 10));
  typing.takes(press("z", 20));
  expect(typing.find(NAMES, 0)).toBe(6);
});

// The page over plain HTTP: what is served to whom, with which headers. `npm run build` has made dist/web.
describe("the page as it is served", () => {
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
    const venue = await createVenue(
      { listen: { socket: socketPath }, stateDir: false, ...config },
      { baseDir: folder },
    );
    venues.push(venue);
    await venue.listen();
    return { socketPath };
  };

  const open = async (config: VenueConfigInput = {}): Promise<Venue> => {
    const venue = await createVenue(
      { hostname: "127.0.0.1", port: 0, stateDir: false, ...config },
      { baseDir: folder },
    );
    venues.push(venue);
    await venue.listen();
    return venue;
  };

  function get(
    venue: Venue | { readonly socketPath: string },
    path: string,
    headers: Record<string, string> = {},
    method = "GET",
  ): Promise<RawAnswer> {
    return sendAsIs("url" in venue ? venue.url : venue, { path, method, headers });
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

  const nonceOf = ({ headers }: RawAnswer): string =>
    /'nonce-([\w-]+)'/.exec(`${headers["content-security-policy"]}`)?.[1] ?? "";
  const policyOf = (answer: RawAnswer): string =>
    `${answer.headers["content-security-policy"]}`.replaceAll(nonceOf(answer), "N");

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
      const nonces = await Promise.all(
        Array.from({ length: 20 }, async () => nonceOf(await get(served, "/workspace/"))),
      );
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
});
