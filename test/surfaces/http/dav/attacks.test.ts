import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { VenueConfigInput } from "../../../../src/config/types.js";
import { ERROR_CODES, type ErrorCode, FileAdapterError } from "../../../../src/core/errors/errors.js";
import { DavError, davError } from "../../../../src/surfaces/http/dav/errors.js";
import { alice, bob } from "../../../ucan/tokens.js";
import { DOCS, operator, UcanVenue } from "../../../venue/identity/ucan-venue.js";
import { basic, bearer, send } from "../client.js";
import { rawRequest, readAnswer } from "../fixture.js";
import { type Answer, type Ask, type DavVenue, hrefs, serveDav, textIn } from "./fixture.js";

describe("attacks", () => {
  let venue: DavVenue;
  beforeAll(async () => {
    venue = await serveDav({ file: { roots: { denied: { path: "denied", deny: ["**/secret*"] } } } }, (base) => {
      mkdirSync(join(base, "denied/tree"), { recursive: true });
      for (const name of ["secret.txt", "tree/secret.txt", "open.txt"])
        writeFileSync(join(base, "denied", name), "SECRET");
    });
    writeFileSync(join(venue.base, "outside.txt"), "OUTSIDE");
    writeFileSync(join(venue.docs, "a.txt"), "alpha");
  });
  afterAll(() => venue.close());

  const METHODS = ["GET", "PROPFIND", "PUT", "DELETE", "MKCOL", "LOCK", "PROPPATCH", "COPY", "MOVE"];

  const MAKING = ["PUT", "MKCOL"];

  describe("no spelling of a path leads out of its root", () => {
    const spellings = [
      "../outside.txt",
      "..%2foutside.txt",
      "%2e%2e/outside.txt",
      "%2e%2e%2foutside.txt",
      ".%2e/outside.txt",
      "x/../../outside.txt",
      "..%5coutside.txt",
      "..\\outside.txt",
      "%252e%252e/outside.txt",
      "..%c0%afoutside.txt",
      "%c0%ae%c0%ae/outside.txt",
      "..%00/outside.txt",
      "./../outside.txt",
      "%2e/outside.txt",
      "..;/outside.txt",
      "/../outside.txt",
      "a.txt%00.jpg",
      ".venue-files/x",
      ".venue-files",
    ];

    test.each(spellings)("%s", async (spelling) => {
      for (const method of METHODS) {
        const answer = await venue.dav(method, `/dav/docs/${spelling}`, {
          headers: { depth: "0", destination: "/dav/docs/stolen" },
        });
        // Some spellings are plain names, which can be made.
        if (!MAKING.includes(method)) expect([method, answer.status >= 400]).toEqual([method, true]);
        expect(answer.text).not.toContain("OUTSIDE");
      }
      const headers = { destination: `/dav/docs/${spelling}`, overwrite: "T" };
      const copied = await venue.dav("COPY", "/dav/docs/a.txt", { headers });
      if (copied.status < 300) expect(spelling).toMatch(/^(?:%252e%252e|\.\.;)/);
      expect((await venue.dav("GET", "/dav/docs/stolen")).text).not.toContain("OUTSIDE");
    });
  });

  describe("no link leads out of its root", () => {
    test.each([
      ["absolute", () => venue.base],
      ["relative", () => ".."],
      ["the top of the system", () => `/../..${venue.base}`],
      ["a chain", () => "link-absolute"],
      ["a loop", () => "link-a loop"],
      ["out and back in", () => "../docs/.."],
      ["magic", () => `/proc/self/root${venue.base}`],
    ])("%s", async (name, leads) => {
      symlinkSync(leads(), join(venue.docs, `link-${name}`));
      const before = readdirSync(venue.base);
      const at = `/dav/docs/${encodeURIComponent(`link-${name}`)}`;
      for (const url of [`${at}/outside.txt`, `${at}/`, `${at}/made`, `${at}/denied/open.txt`]) {
        for (const method of METHODS) {
          const headers = { depth: method === "PROPFIND" ? "1" : "infinity", destination: "/dav/docs/stolen" };
          const body = method === "LOCK" ? { body: LOCK } : method === "PUT" ? { body: "x" } : {};
          const answer = await venue.dav(method, url, { headers, ...body });
          expect([method, url, answer.status >= 400]).toEqual([method, url, true]);
          expect(answer.text).not.toMatch(/OUTSIDE|SECRET/);
        }
        for (const method of ["COPY", "MOVE"]) {
          const headers = { destination: url };
          // With a slash it is the link itself, which may be replaced.
          if (url.endsWith("/")) continue;
          expect([method, (await venue.status(method, "/dav/docs/a.txt", { headers })) >= 400]).toEqual([method, true]);
        }
      }
      expect([readdirSync(venue.base), readFileSync(join(venue.base, "outside.txt"), "utf8")]).toEqual([
        before,
        "OUTSIDE",
      ]);
      expect(readdirSync(venue.docs)).not.toContain("stolen");
    });
  });

  test("a folder that is swapped for a link while it is used leads nowhere", async () => {
    const [folder, link, spare] = ["race", "race-link", "race-spare"].map((name) => join(venue.docs, name));
    if (folder === undefined || link === undefined || spare === undefined) throw new Error("no names");
    mkdirSync(folder);
    writeFileSync(join(folder, "outside.txt"), "inside");
    symlinkSync(venue.base, link);
    let isOver = false;
    const swap = async () => {
      while (!isOver) {
        renameSync(folder, spare);
        renameSync(link, folder);
        await new Promise((resolve) => setImmediate(resolve));
        renameSync(folder, link);
        renameSync(spare, folder);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const swapping = swap();
    const ask = async () => {
      for (let index = 0; index < 30; index++) {
        expect((await venue.dav("GET", "/dav/docs/race/outside.txt")).text).not.toContain("OUTSIDE");
        const headers = { destination: "/dav/docs/taken", depth: "infinity" };
        await venue.dav("COPY", "/dav/docs/race/outside.txt", { headers });
        expect((await venue.dav("GET", "/dav/docs/taken")).text).not.toContain("OUTSIDE");
        await venue.dav("PUT", "/dav/docs/race/written.txt", { body: "x" });
      }
    };
    await Promise.all([ask(), ask()]).finally(() => {
      isOver = true;
    });
    await swapping;
    expect(() => rmSync(join(venue.base, "written.txt"))).toThrow("ENOENT");
  });

  describe("what is denied", () => {
    test.each<[string, string, Ask, number]>([
      ["GET", "secret.txt", {}, 403],
      ["PROPFIND", "secret.txt", { headers: { depth: "0" } }, 403],
      ["PUT", "secret-new", { body: "x" }, 403],
      ["LOCK", "secret-new", {}, 403],
      ["COPY", "open.txt", { headers: { destination: "/dav/denied/secret-copy" } }, 403],
      ["MOVE", "tree", { headers: { destination: "/dav/denied/elsewhere" } }, 403],
      ["DELETE", "tree", {}, 403],
      ["COPY", "open.txt", { headers: { destination: "/dav/denied/tree" } }, 403],
    ])("%s %s stays so", async (method, path, ask, status) => {
      const body = method === "LOCK" ? LOCK : ask.body;
      const answer = await venue.dav(method, `/dav/denied/${path}`, {
        ...ask,
        ...(body === undefined ? {} : { body }),
      });
      expect(answer.status).toBe(status);
      expect(answer.text).not.toContain("SECRET");
    });

    test("is not listed, and not told from what is missing", async () => {
      const listed = await venue.dav("PROPFIND", "/dav/denied/", { headers: { depth: "1" } });
      expect(listed.text).not.toContain("secret");
      const [there, missing] = [
        await venue.dav("GET", "/dav/denied/secret.txt"),
        await venue.dav("GET", "/dav/denied/secret.none"),
      ];
      expect([missing.status, missing.text.replace("secret.none", "secret.txt")]).toEqual([there.status, there.text]);
    });
  });

  const LOCK = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';

  describe("XML", () => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><propfind xmlns="DAV:"><prop><x>&a;</x></prop></propfind>`;
    test.each<[string, string | Buffer, number]>([
      ["a document type", bomb, 400],
      ["an entity of a file", '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>', 400],
      ["an unknown entity", '<propfind xmlns="DAV:"><prop>&x;</prop></propfind>', 400],
      ["an undeclared prefix", "<D:propfind/>", 400],
      ["an emptied prefix", '<D:propfind xmlns:D="DAV:"><D:prop xmlns:x=""/></D:propfind>', 400],
      ["no XML", "propfind", 400],
      ["an open element", '<propfind xmlns="DAV:">', 400],
      ["invalid UTF-8", Buffer.from([0x3c, 0xff, 0x3e]), 400],
      ["too many levels", `${"<a>".repeat(101)}${"</a>".repeat(101)}`, 413],
      ["too many elements", `<a>${"<b/>".repeat(1000)}</a>`, 413],
      ["too many attributes", `<a ${Array.from({ length: 101 }, (_, index) => `a${index}=""`).join(" ")}/>`, 413],
      ["too many bytes", `<a>${" ".repeat(1_048_576)}</a>`, 413],
      ["another document", "<x/>", 400],
      ["two questions", '<propfind xmlns="DAV:"><prop/><allprop/></propfind>', 400],
      ["UTF-16 by its mark", Buffer.from('\ufeff<propfind xmlns="DAV:"><allprop/></propfind>', "utf16le"), 207],
      ["an unknown element beside the question", '<propfind xmlns="DAV:"><allprop/><x xmlns="y"/></propfind>', 207],
    ])("with %s", async (_, body, status) => {
      for (const type of ["application/xml", "text/nonsense"]) {
        const headers = { depth: "0", "content-type": type };
        expect(await venue.status("PROPFIND", "/dav/docs/", { headers, body })).toBe(status);
      }
    });

    test("names and properties cannot break out of an answer or its headers", async () => {
      const name = "a<b>&\"'\u00e9%0d%0aX: y";
      const path = `/dav/docs/${encodeURIComponent(name)}`;
      expect(await venue.status("PUT", path, { body: "x" })).toBe(201);
      const body = `<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:&quot;&gt;&lt;evil/&gt;">&lt;/D:prop&gt;&#13;&#10;Set-Cookie: a</x></prop></set></propertyupdate>`;
      const patched = await venue.dav("PROPPATCH", path, { body });
      expect(patched.status).toBe(207);
      const listed = await venue.dav("PROPFIND", "/dav/docs/", { headers: { depth: "1" } });
      expect(listed.text).toContain("<D:displayname>a&lt;b&gt;&amp;&quot;'\u00e9%0d%0aX: y</D:displayname>");
      expect(listed.text).not.toContain("<evil/>");
      expect(listed.text).not.toContain("<b>");
      expect(listed.headers["set-cookie"]).toBeUndefined();
      const page = await venue.dav("GET", "/dav/docs/");
      expect(page.text).not.toContain("<b>");
    });
  });

  test("what is told of an error holds no host path", async () => {
    for (const [method, path] of [
      ["GET", "/dav/docs/none"],
      ["PUT", "/dav/docs/none/x"],
      ["PUT", "/dav/docs/a.txt/x"],
      ["MKCOL", "/dav/docs/a.txt"],
      ["DELETE", "/dav/docs/none"],
    ] as const) {
      const { text } = await venue.dav(method, path, { body: method === "PUT" ? "x" : "" });
      expect(text).not.toContain(venue.base);
      expect(text).toContain("<v:message>");
    }
  });

  test("a drive of another caller is neither seen nor locked", async () => {
    await venue.dav("PUT", "/dav/home/mine", { body: "mine" });
    await venue.dav("LOCK", "/dav/home/mine", { body: LOCK });
    const seen = await venue.dav("PROPFIND", "/dav/home/", { as: "alice", headers: { depth: "1" } });
    expect(seen.text).not.toContain("mine");
    expect(await venue.status("PUT", "/dav/home/mine", { as: "alice", body: "hers" })).toBe(201);
    expect((await venue.dav("GET", "/dav/home/mine")).text).toBe("mine");
  });
});

// WebDAV that is off is not there; where it is on, the limits of the venue hold for it too.
describe("bounds", () => {
  const open: DavVenue[] = [];
  afterEach(async () => {
    jest.restoreAllMocks();
    await Promise.all(open.splice(0).map((venue) => venue.close()));
  });

  async function serve(config: VenueConfigInput = {}, lay?: (base: string) => void): Promise<DavVenue> {
    const venue = await serveDav(config, lay);
    open.push(venue);
    return venue;
  }

  describe("where it is off", () => {
    test.each([
      ["webdav: false", { webdav: false }],
      ["webdav: { enabled: false }", { webdav: { enabled: false, anonymous: true } }],
    ] as [string, VenueConfigInput][])("nothing is served: %s", async (_name, config) => {
      const venue = await serve({ ...config, corsOrigins: ["https://app.example"] });
      const preflight = { origin: "https://app.example", "access-control-request-method": "PROPFIND" };
      for (const path of ["/", "/dav", "/dav/", "/dav/docs/a.txt", "/dlfs/", "/dlfs/notes/"]) {
        for (const method of ["OPTIONS", "GET", "PROPFIND", "PUT", "MKCOL", "LOCK"]) {
          const { status, headers } = await venue.dav(method, path, {
            as: "nobody",
            headers: bearer(venue.password("operator")),
          });
          expect([method, path, status, headers["dav"]]).toEqual([method, path, 404, undefined]);
        }
        expect([path, await venue.status("OPTIONS", path, { as: "nobody", headers: preflight })]).toEqual([path, 404]);
        // A password is no credential at any other URL.
        expect([path, await venue.status("PROPFIND", path)]).toEqual([path, 401]);
      }
      expect(readdirSync(venue.docs).filter((name) => !name.startsWith("."))).toEqual([]);
    });

    test("the page is served all the same, and WebDAV without the page", async () => {
      const noDav = await serve({ webdav: { enabled: false } });
      expect(await noDav.status("GET", "/workspace/", { as: "nobody" })).toBe(200);
      const noPage = await serve({ workspace: false });
      expect(await noPage.status("GET", "/workspace/", { as: "nobody" })).toBe(404);
      expect(await noPage.status("PROPFIND", "/dav/", { headers: { depth: "0" } })).toBe(207);
    });
  });

  test("the rate limit holds, by caller, and says when to come again", async () => {
    const venue = await serve({ rateLimit: { perSecond: 1, burst: 3 } });
    const ask = (method: string) => venue.dav(method, "/dav/docs/", { as: "alice", headers: { depth: "0" } });
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask("PROPFIND")));
    expect(answers.filter(({ status }) => status === 207).length).toBeGreaterThanOrEqual(3);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused).toBeDefined();
    expect(Number(refused?.headers["retry-after"])).toBeGreaterThanOrEqual(1);
    expect(refused?.headers["content-type"]).toContain("application/xml");
  });

  describe("a client that stalls", () => {
    /** Makes timers of these delays run a thousand times faster. @returns resolves when one of them has run */
    function hurryTimers(...delays: readonly number[]): Promise<void> {
      const { setTimeout: real } = globalThis;
      return new Promise((resolve) => {
        const hurried = (run: (...args: readonly unknown[]) => void, ms = 0, ...args: readonly unknown[]) => {
          if (!delays.includes(ms)) return real(run, ms, ...args);
          return real(() => {
            run(...args);
            resolve();
          }, ms / 1000);
        };
        jest.spyOn(globalThis, "setTimeout").mockImplementation(hurried as typeof setTimeout);
      });
    }

    function start({ url, password }: DavVenue, line: string, headers: Record<string, string> = {}): Socket {
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      socket.write(rawRequest(line, { ...bearer(password("operator")), ...headers }));
      return socket;
    }

    /** Bytes that come until the connection ends. */
    async function countBytes(socket: Socket): Promise<number> {
      let bytes = 0;
      socket.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      socket.on("error", () => {});
      await once(socket, "close");
      return bytes;
    }

    test("with the body of a PUT is cut off, and nothing of it is kept", async () => {
      const venue = await serve({ file: { limits: { timeoutMs: 200 } } });
      const socket = start(venue, "PUT /dav/docs/slow.txt", { "Content-Length": "100000" });
      socket.write("begun");
      const { status, headers } = await readAnswer(socket);
      expect([status, headers.get("connection")]).toEqual([504, "close"]);
      expect(existsSync(join(venue.docs, "slow.txt"))).toBe(false);
      socket.destroy();
    });

    test("with an XML body is cut off", async () => {
      const venue = await serve();
      void hurryTimers(5000, 1000);
      const socket = start(venue, "PROPFIND /dav/docs/", { Depth: "0", "Content-Length": "1000" });
      socket.write("<propfind");
      expect((await readAnswer(socket)).status).toBe(408);
      await once(socket, "close");
    });

    const layFile = (base: string) => {
      writeFileSync(join(base, "docs/large.bin"), "");
      truncateSync(join(base, "docs/large.bin"), 64 * 1024 * 1024);
    };
    const layFolder = (base: string) => {
      mkdirSync(join(base, "docs/many"));
      for (let at = 1000; at < 9000; at += 1) writeFileSync(join(base, `docs/many/${"ß".repeat(120)}${at}`), "");
    };

    // Larger than what the sockets of both sides hold.
    test.each([
      ["a download", "GET", "/dav/docs/large.bin", {}, layFile],
      ["a listing", "PROPFIND", "/dav/docs/many/", { Depth: "1" }, layFolder],
    ])("with what it is sent is cut off: %s", async (_name, method, path, headers, lay) => {
      const venue = await serve({}, lay);
      const whole = (await venue.dav(method, path, { headers })).text.length;
      const isCutOff = hurryTimers(60_000);
      const socket = start(venue, `${method} ${path}`, headers);
      await isCutOff;
      expect(await countBytes(socket)).toBeLessThan(whole);
      jest.restoreAllMocks();
      expect(await venue.status("GET", "/dav/")).toBe(200);
    });
  });
});

// CORS at the URLs of WebDAV: what pages of an allowed origin may send, and what they may read of the answer.
describe("pages of another origin", () => {
  const APP = "https://app.example";
  const API_METHODS = "GET,POST,PUT,PATCH,DELETE,OPTIONS";
  let venue: DavVenue;

  beforeAll(async () => {
    venue = await serveDav({ corsOrigins: [APP] });
  });
  afterAll(() => venue.close());

  /** A preflight carries no credentials. */
  const preflight = (path: string, method: string, origin = APP): Promise<Answer> =>
    venue.dav("OPTIONS", path, { as: "nobody", headers: { origin, "access-control-request-method": method } });
  const asPage = () => ({ origin: APP, ...bearer(venue.password("operator")) });
  const listOf = (answer: Answer, header: string): string[] => `${answer.headers[header]}`.split(/, ?/);
  const corsHeaders = ({ headers }: Answer): string[] =>
    Object.keys(headers).filter((name) => name.startsWith("access-control"));

  test.each(["/dav", "/dav/", "/dav/docs/a%20b.txt", "/%64av/docs/", "/dlfs", "/dlfs/notes/x"])(
    "a preflight for %s names each method of WebDAV, and the headers that they take",
    async (path) => {
      const answer = await preflight(path, "PROPFIND");
      const served = listOf(await venue.dav("OPTIONS", "/dav/docs/"), "allow");
      expect(served).toContain("PROPPATCH");
      expect([answer.status, answer.text, answer.headers["access-control-allow-origin"]]).toEqual([204, "", APP]);
      expect(listOf(answer, "access-control-allow-methods").sort()).toEqual(served.sort());
      const headers = listOf(answer, "access-control-allow-headers");
      for (const name of ["authorization", "depth", "destination", "if", "lock-token", "overwrite", "timeout"])
        expect(headers).toContain(name);
      expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
    },
  );

  test.each(["/", "/api/v1/invoke", "/api/v1/files/docs/a.txt", "/workspace/"])(
    "a preflight for %s names none of them",
    async (path) => {
      const answer = await preflight(path, "PROPFIND");
      expect([answer.status, answer.headers["access-control-allow-methods"]]).toEqual([204, API_METHODS]);
      expect(listOf(answer, "access-control-allow-headers")).not.toContain("depth");
    },
  );

  test("a preflight of another origin is refused, and tells nothing", async () => {
    const answer = await preflight("/dav/docs/", "PROPFIND", "https://evil.example");
    expect([answer.status, corsHeaders(answer)]).toEqual([403, []]);
  });

  describe("a page of an allowed origin", () => {
    test("works with a bearer token, and may read what WebDAV answers in headers", async () => {
      const headers = asPage();
      const put = await venue.dav("PUT", "/dav/docs/page.txt", { as: "nobody", headers, body: "of a page" });
      expect([put.status, put.headers["access-control-allow-origin"]]).toEqual([201, APP]);
      const answer = await venue.dav("PROPFIND", "/dav/docs/page.txt", {
        as: "nobody",
        headers: { ...headers, depth: "0" },
      });
      expect(answer.status).toBe(207);
      const exposed = listOf(answer, "access-control-expose-headers");
      for (const name of ["etag", "dav", "allow", "lock-token", "x-request-id"]) expect(exposed).toContain(name);
      const status = await venue.dav("GET", "/api/v1/status", { as: "nobody", headers });
      expect(listOf(status, "access-control-expose-headers")).not.toContain("lock-token");
    });

    test("may not use a password that the browser keeps", async () => {
      for (const site of ["cross-site", "same-site"]) {
        const headers = { origin: APP, "sec-fetch-site": site, "sec-fetch-mode": "cors", depth: "0" };
        expect([site, await venue.status("PROPFIND", "/dav/docs/", { headers })]).toEqual([site, 403]);
      }
    });
  });
});

const answerOf = (code: ErrorCode, isReading: boolean, isPublic = false): [number, string | undefined] => {
  const error = davError(new FileAdapterError(code, "text", {}), { isReading, isPublic });
  if (!(error instanceof DavError)) return [(error as { status: number }).status, undefined];
  return [error.status, error.condition?.text];
};

/** Status when reading, when changing, and the precondition. */
const TABLE: readonly [number, number, string | undefined, readonly ErrorCode[]][] = [
  [412, 412, undefined, ["CONFLICT", "ALREADY_EXISTS"]],
  [404, 404, undefined, ["NOT_FOUND", "UNKNOWN_ROOT", "DANGLING_SYMLINK"]],
  [404, 409, undefined, ["NOT_A_DIRECTORY", "PARENT_MISSING"]],
  [405, 405, undefined, ["IS_A_DIRECTORY", "EXISTS_NOT_DIRECTORY"]],
  [409, 409, undefined, ["NOT_A_FILE", "HARD_LINKED"]],
  [403, 403, "<D:need-privileges/>", ["CAPABILITY_DENIED"]],
  [403, 403, undefined, ["READ_ONLY_ROOT", "DENIED_BY_POLICY", "SYMLINK_ESCAPE", "OTHER_DEVICE", "PERMISSION_DENIED"]],
  [403, 403, undefined, ["ROOT_DELETE", "NOT_SUPPORTED"]],
  [507, 507, "<D:quota-not-exceeded/>", ["QUOTA_EXCEEDED"]],
  [507, 507, "<D:sufficient-disk-space/>", ["NO_SPACE"]],
  [400, 400, undefined, ["INVALID_PATH", "INVALID_INPUT", "PATH_ESCAPES_ROOT", "PATH_NOT_RELATIVE"]],
];

test.each(TABLE)("%i when reading, %i when changing, with %s: %j", (reading, changing, condition, codes) => {
  for (const code of codes) {
    expect([code, answerOf(code, true)]).toEqual([code, [reading, condition]]);
    expect([code, answerOf(code, false)]).toEqual([code, [changing, condition]]);
  }
});

test("every other code has its status of the table of codes", () => {
  const named = TABLE.flatMap(([, , , codes]) => codes);
  for (const [code, { http }] of Object.entries(ERROR_CODES) as [ErrorCode, { http: number }][]) {
    if (!named.includes(code)) expect([code, answerOf(code, true)]).toEqual([code, [http, undefined]]);
  }
});

test("who has no credentials is asked for some, and learns nothing else", () => {
  const status = (code: ErrorCode) => answerOf(code, true, true)[0];
  expect(["CAPABILITY_DENIED", "UNKNOWN_ROOT", "DRIVE_REQUIRES_AUTH"].map((code) => status(code as ErrorCode))).toEqual(
    [401, 401, 401],
  );
  expect(status("NOT_FOUND")).toBe(404);
});

describe("passwords", () => {
  let here: UcanVenue;
  beforeAll(async () => {
    here = new UcanVenue();
    await here.open({ drives: { store: "memory" } });
  });
  afterAll(() => here.close());

  /** Status and body of a request with a password. */
  async function ask(method: string, path: string, password: string, user = "anyone"): Promise<[number, string]> {
    const headers = { ...basic(password, user), depth: "1" };
    const body = method === "PUT" ? { body: "written" } : {};
    const answer = await send(`${here.venue.url}${path}`, { method, headers, ...body });
    return [answer.status, await answer.text()];
  }

  test("a UCAN for the venue is a password, and gives what its proofs give", async () => {
    const password = here.ucan(bob, { att: [DOCS], prf: [here.ucan(operator, { aud: bob.did, att: [DOCS] })] });
    expect(await ask("GET", "/dav/docs/a.txt", password)).toEqual([200, "of docs"]);
    expect(await ask("PUT", "/dav/docs/a.txt", password)).toEqual([403, expect.stringContaining("CAPABILITY_DENIED")]);
    expect(await ask("GET", "/dav/owned/a.txt", password)).toEqual([403, expect.stringContaining("CAPABILITY_DENIED")]);
    const forged = `${password.slice(0, -86)}${here.ucan(alice).slice(-86)}`;
    expect(await ask("GET", "/dav/docs/a.txt", forged)).toEqual([401, expect.any(String)]);
  });

  test("an identity token is the password of its issuer, for roots and drives of its own, whatever the user name", async () => {
    const password = here.identity(alice);
    for (const user of ["alice", "", "domain\\user"]) {
      expect(await ask("GET", "/dav/owned/a.txt", password, user)).toEqual([200, "of owned"]);
    }
    expect(await ask("MKCOL", "/dlfs/notes", password)).toEqual([201, ""]);
    expect(await ask("PUT", "/dlfs/notes/mine", password)).toEqual([201, ""]);
    expect((await ask("GET", "/dlfs/notes/mine", here.identity(bob)))[0]).toBe(404);
    expect((await ask("GET", "/dav/owned/a.txt", here.identity(alice, { aud: bob.did })))[0]).toBe(401);
  });
});

// What other servers take, and clients rely on.
describe("what clients get wrong", () => {
  let venue: DavVenue;
  beforeAll(async () => {
    venue = await serveDav({ webdav: true });
    writeFileSync(join(venue.docs, "a.txt"), "alpha");
  });
  afterAll(() => venue.close());

  const LOCK =
    '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

  test.each([{}, { depth: "infinity" }])(
    "PROPFIND of a file with %j is of the file, of a folder refused",
    async (headers) => {
      const one = await venue.dav("PROPFIND", "/dav/docs/a.txt", { headers });
      expect([one.status, hrefs(one)]).toEqual([207, ["/dav/docs/a.txt"]]);
      expect(await venue.status("PROPFIND", "/dav/docs/none", { headers })).toBe(404);
      expect(await venue.status("PROPFIND", "/dav/docs/", { headers })).toBe(403);
    },
  );

  test("UNLOCK takes a token without brackets, and nothing half in them", async () => {
    const token = async () =>
      String((await venue.dav("LOCK", "/dav/docs/a.txt", { body: LOCK })).headers["lock-token"]).slice(1, -1);
    const bare = await token();
    for (const wrong of [`<${bare}`, `${bare}>`, `${bare} ${bare}`, ""]) {
      expect(await venue.status("UNLOCK", "/dav/docs/a.txt", { headers: { "lock-token": wrong } })).toBe(400);
    }
    expect(await venue.status("UNLOCK", "/dav/docs/a.txt", { as: "alice", headers: { "lock-token": bare } })).toBe(403);
    expect(await venue.status("UNLOCK", "/dav/docs/a.txt", { headers: { "lock-token": bare } })).toBe(204);
    expect(await venue.status("UNLOCK", "/dav/docs/a.txt", { headers: { "lock-token": `<${await token()}>` } })).toBe(
      204,
    );
  });

  describe("MKCOL with a body", () => {
    const body = (properties: string) =>
      `<D:mkcol xmlns:D="DAV:" xmlns:x="urn:x"><D:set><D:prop>${properties}</D:prop></D:set></D:mkcol>`;
    const type = "<D:resourcetype><D:collection/></D:resourcetype>";

    test.each(["docs", "home"])("of RFC 5689 makes a folder with its properties in %s", async (root) => {
      const url = `/dav/${root}/made`;
      expect(await venue.status("MKCOL", url, { body: body(`${type}<x:colour>blue</x:colour>`) })).toBe(201);
      const asked = '<propfind xmlns="DAV:"><prop><resourcetype/><x:colour xmlns:x="urn:x"/></prop></propfind>';
      const found = await venue.dav("PROPFIND", url, { headers: { depth: "0" }, body: asked });
      expect(found.text).toContain("<D:collection/>");
      expect(found.text).toContain(">blue<");
      expect(await venue.status("MKCOL", url, { body: body(type) })).toBe(405);
    });

    test.each([
      ["xml of another kind", "<a/>", 415],
      ["no xml", "make it", 415],
      ["a propertyupdate", '<D:propertyupdate xmlns:D="DAV:"/>', 415],
      ["a calendar", body('<D:resourcetype><D:collection/><c xmlns="urn:c"/></D:resourcetype>'), 403],
      ["a property that is too large", body(`${type}<x:large>${"x".repeat(8193)}</x:large>`), 507],
      ["a property of the venue's own", body(`${type}<D:getetag>"x"</D:getetag>`), 403],
    ])("of %s makes nothing", async (_, text, status) => {
      expect(await venue.status("MKCOL", "/dav/docs/not-made", { body: text })).toBe(status);
      expect(existsSync(join(venue.docs, "not-made"))).toBe(false);
    });
  });

  describe.each(["docs", "tmp", "home"])("X-OC-Mtime in %s", (root) => {
    const time = async (path: string, depth: string) =>
      [...(await venue.dav("PROPFIND", path, { headers: { depth } })).text.matchAll(/<D:getlastmodified>([^<]*)/g)].map(
        ([, date]) => Date.parse(date ?? "") / 1000,
      );

    test.each([-86_400, -1.5, 0, 1_234_567_890.25, 4_000_000_000])(
      "of %d is kept, and told everywhere",
      async (seconds) => {
        const put = await venue.dav("PUT", `/dav/${root}/timed`, {
          headers: { "x-oc-mtime": `${seconds}` },
          body: "x",
        });
        expect(put.headers["x-oc-mtime"]).toBe("accepted");
        const whole = Math.floor(seconds);
        expect(await time(`/dav/${root}/timed`, "0")).toEqual([whole]);
        expect(await time(`/dav/${root}/`, "1")).toContain(whole);
        const { headers } = await venue.dav("GET", `/dav/${root}/timed`);
        expect(Date.parse(String(headers["last-modified"])) / 1000).toBe(whole);
        if (root === "docs") expect(Math.floor(statSync(join(venue.docs, "timed")).mtimeMs / 1000)).toBe(whole);
      },
    );

    test("is set by PROPPATCH too, goes with a copy and a move, and ends with new content", async () => {
      const url = `/dav/${root}/kept`;
      await venue.dav("PUT", url, { body: "one" });
      const body =
        '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><D:lastmodified>1111111111</D:lastmodified></D:prop></D:set></D:propertyupdate>';
      const patched = await venue.dav("PROPPATCH", url, { body });
      expect(patched.text).toContain("200 OK");
      expect(await time(url, "0")).toEqual([1_111_111_111]);
      expect(await venue.status("MOVE", url, { headers: { destination: `${url}-moved` } })).toBe(201);
      expect(await time(`${url}-moved`, "0")).toEqual([1_111_111_111]);
      await venue.dav("PUT", `${url}-moved`, { body: "two" });
      expect((await time(`${url}-moved`, "0"))[0]).toBeGreaterThan(1_700_000_000);
    });
  });

  describe("digests", () => {
    const content = "checked content";
    const digest = (algorithm: string, encoding: "hex" | "base64", of = content) =>
      createHash(algorithm).update(of).digest(encoding);
    const headers = (of?: string) => [
      { "oc-checksum": `SHA1:${digest("sha1", "hex", of)}` },
      { "oc-checksum": `MD5:${digest("md5", "hex", of).toUpperCase()}` },
      { "content-md5": digest("md5", "base64", of) },
      { digest: `SHA-256=${digest("sha256", "base64", of)}` },
      { digest: `unixsum=30637,SHA=${digest("sha1", "base64", of)}` },
      { "repr-digest": `sha-512=:${digest("sha512", "base64", of)}:` },
      { "content-digest": `sha-256=:${digest("sha256", "base64", of)}:, md5=:${digest("md5", "base64", of)}:` },
    ];
    const asOperator = () => bearer(venue.password("operator"));

    test.each(["/dav/docs/", "/dav/home/", "/api/v1/files/docs/"])(
      "that do not fit are refused at %s",
      async (base) => {
        for (const [index, fitting] of headers().entries()) {
          const url = `${base}${base.length}-digest-${index}`;
          const wrong = headers("something else")[index] ?? {};
          const put = (more: Record<string, string>) =>
            venue.status("PUT", url, { headers: { ...more, ...asOperator() }, body: content });
          expect([wrong, await put(wrong)]).toEqual([wrong, 400]);
          expect(await venue.status("GET", url, { headers: asOperator() })).toBe(404);
          expect([fitting, await put(fitting)]).toEqual([fitting, 201]);
        }
        const unknown = { "oc-checksum": "CRC64:00", digest: "id-crc32=abc", "content-digest": "future=:AA==:" };
        expect(
          await venue.status("PUT", `${base}${base.length}-unknown`, {
            headers: { ...unknown, ...asOperator() },
            body: content,
          }),
        ).toBe(201);
        const short = { "content-md5": "AAAA", ...asOperator() };
        expect(await venue.status("PUT", `${base}short`, { headers: short, body: content })).toBe(400);
      },
    );

    test.each(["docs", "home"])("of what was sent to %s are offered while it is there", async (root) => {
      const sum = `SHA1:${digest("sha1", "hex")}`;
      const url = `/dav/${root}/summed`;
      await venue.dav("PUT", url, { headers: { "oc-checksum": sum }, body: content });
      const body = '<propfind xmlns="DAV:"><prop><o:checksums xmlns:o="http://owncloud.org/ns"/></prop></propfind>';
      const sums = async (path: string, depth: string) =>
        (await venue.dav("PROPFIND", path, { headers: { depth }, body })).text;
      const shown = `${sum} SHA256:${digest("sha256", "hex")}`;
      expect(await sums(url, "0")).toContain(`<o:checksum>${shown}</o:checksum>`);
      expect(await sums(`/dav/${root}/`, "1")).toContain(shown);
      await venue.dav("PUT", url, { body: "other" });
      expect(await sums(url, "0")).not.toContain(sum);
    });
  });

  test("without a quota the space of the disk is told, to those who see the root", async () => {
    const body = '<propfind xmlns="DAV:"><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>';
    const asked = { headers: { depth: "0" }, body };
    const { bsize, bavail, blocks } = statfsSync(venue.docs);
    const found = await venue.dav("PROPFIND", "/dav/docs/", asked);
    const [available, used] = ["D:quota-available-bytes", "D:quota-used-bytes"].map((name) =>
      Number(textIn(found, name)),
    );
    expect(Math.abs((available ?? 0) - bavail * bsize)).toBeLessThan(2 ** 30);
    expect((available ?? 0) + (used ?? 0)).toBe(blocks * bsize);
    expect((await venue.dav("PROPFIND", "/dav/hidden/", { ...asked, as: "alice" })).status).toBe(403);
  });
});

// What clients that we cannot run send, after captures that others have published. Statuses are those that keep them going.
interface Step {
  readonly method: string;
  /** Below the folder of the client; with a leading slash from the top. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends the token of the last lock in this header. */
  readonly token?: "if" | "lock-token";
  readonly as?: "nobody";
  readonly status: number;
  readonly has?: string;
}

const dav = (content: string): string => `<?xml version="1.0" encoding="utf-8"?>\n${content}`;
const lockInfo = dav(
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner><D:href>PC\\user</D:href></D:owner></D:lockinfo>',
);
const find = (...names: string[]): string =>
  dav(`<D:propfind xmlns:D="DAV:"><D:prop>${names.map((name) => `<D:${name}/>`).join("")}</D:prop></D:propfind>`);
const win32 = (...names: string[]): string =>
  dav(
    `<D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop>${names
      .map(
        (name) =>
          `<Z:Win32${name}>${name === "FileAttributes" ? "00000020" : "Fri, 15 Jun 2018 12:00:00 GMT"}</Z:Win32${name}>`,
      )
      .join("")}</D:prop></D:set></D:propertyupdate>`,
  );
const TIMES = ["CreationTime", "LastAccessTime", "LastModifiedTime", "FileAttributes"];
const depth = (value: string) => ({ depth: value });

const CLIENTS: Readonly<Record<string, readonly Step[]>> = {
  // github.com/pydio/pydio-core/issues/581, github.com/couling/WebDAV-Daemon/issues/18,
  // github.com/robbiehanson/CocoaHTTPServer/issues/8
  Finder: [
    { method: "OPTIONS", path: "", as: "nobody", status: 200 },
    { method: "PROPFIND", path: "", headers: depth("0"), as: "nobody", status: 401 },
    {
      ...{ method: "PROPFIND", path: "", headers: depth("0"), status: 207 },
      body: find("quota-available-bytes", "quota-used-bytes", "quota", "quotaused"),
    },
    { method: "PROPFIND", path: "._.", headers: depth("0"), status: 404 },
    { method: "PROPFIND", path: ".DS_Store", headers: depth("0"), status: 404 },
    { method: "PROPFIND", path: "file.txt", headers: depth("0"), status: 404 },
    { method: "PUT", path: "file.txt", body: "", status: 201 },
    { method: "PROPFIND", path: "._file.txt", headers: depth("0"), status: 404 },
    {
      method: "LOCK",
      path: "file.txt",
      headers: { ...depth("0"), timeout: "Second-600" },
      body: lockInfo,
      status: 200,
    },
    { method: "GET", path: "file.txt", status: 200 },
    { method: "PROPFIND", path: "file.txt", headers: depth("0"), body: find("appledoubleheader"), status: 207 },
    {
      ...{ method: "PUT", path: "file.txt", body: "hello", token: "if", status: 204 },
      headers: { "x-expected-entity-length": "5" },
    },
    { method: "UNLOCK", path: "file.txt", token: "lock-token", status: 204 },
    { method: "PUT", path: "._file.txt", body: "double", status: 201 },
    { method: "MOVE", path: "file.txt", headers: { destination: "renamed.txt", overwrite: "F" }, status: 201 },
    { method: "DELETE", path: "._file.txt", status: 204 },
    { method: "PROPFIND", path: "", headers: depth("1"), status: 207, has: "renamed.txt" },
  ],
  // github.com/mar10/wsgidav/issues/112, github.com/swisspol/GCDWebServer/issues/319,
  // github.com/dgraziotin/docker-nginx-webdav-nononsense/issues/8, github.com/nextcloud/server/pull/2986
  Windows: [
    { method: "OPTIONS", path: "/", headers: { translate: "f" }, as: "nobody", status: 200 },
    { method: "PROPFIND", path: "/", headers: depth("0"), as: "nobody", status: 401 },
    { method: "PROPFIND", path: "/", headers: { ...depth("0"), translate: "f" }, body: "", status: 207 },
    { method: "PROPFIND", path: "", headers: depth("1"), status: 207, has: "<D:collection/>" },
    { method: "PROPFIND", path: "desktop.ini", headers: depth("0"), status: 404 },
    { method: "PROPFIND", path: "compat.py", headers: depth("0"), status: 404 },
    { method: "PUT", path: "compat.py", body: "", status: 201 },
    {
      method: "LOCK",
      path: "compat.py",
      headers: { timeout: "Second-3600", translate: "f" },
      body: lockInfo,
      status: 200,
    },
    { method: "PROPPATCH", path: "compat.py", body: win32(...TIMES), token: "if", status: 207, has: "HTTP/1.1 200 OK" },
    { method: "HEAD", path: "compat.py", headers: { translate: "f" }, status: 200 },
    { method: "PUT", path: "compat.py", body: "print()", token: "if", status: 204 },
    {
      ...{ method: "PROPPATCH", path: "compat.py", token: "if", status: 207, has: "HTTP/1.1 200 OK" },
      body: win32("LastModifiedTime", "FileAttributes"),
    },
    { method: "UNLOCK", path: "compat.py", token: "lock-token", status: 204 },
    { method: "PROPFIND", path: "compat.py", headers: depth("0"), status: 207, has: "Fri, 15 Jun 2018 12:00:00 GMT" },
    { method: "MKCOL", path: "New folder", status: 201 },
    { method: "PROPPATCH", path: "New folder", body: win32(...TIMES), status: 207, has: "HTTP/1.1 200 OK" },
    { method: "MOVE", path: "New folder", headers: { destination: "Named", overwrite: "F" }, status: 201 },
    { method: "DELETE", path: "Named", status: 204 },
  ],
  // github.com/danmunn/redmine_dmsf/issues/587, the protocol notes MS-OCPROTO 2.1.2.1.2, and jsDAV's wiki on Office
  Office: [
    { method: "PUT", path: "dokument.docx", body: "one", status: 201 },
    { method: "PROPFIND", path: "dokument.docx", headers: depth("0"), status: 207 },
    { method: "OPTIONS", path: "", status: 200 },
    { method: "HEAD", path: "dokument.docx", status: 200 },
    {
      method: "LOCK",
      path: "dokument.docx",
      headers: { ...depth("0"), timeout: "Second-3600" },
      body: lockInfo,
      status: 200,
    },
    { method: "GET", path: "dokument.docx", status: 200 },
    { method: "LOCK", path: "dokument.docx", headers: { timeout: "Second-3600" }, token: "if", status: 200 },
    { method: "PUT", path: "~$kument.docx", body: "owner", status: 201 },
    { method: "PUT", path: "dokument.docx", body: "two", token: "if", status: 204 },
    { method: "HEAD", path: "dokument.docx", status: 200 },
    { method: "PUT", path: "dokument.docx", body: "three", token: "if", status: 204 },
    { method: "UNLOCK", path: "dokument.docx", token: "lock-token", status: 204 },
    { method: "DELETE", path: "~$kument.docx", status: 204 },
  ],
  // gvfs, daemon/gvfsbackenddav.c
  GNOME: [
    { method: "OPTIONS", path: "", status: 200 },
    {
      ...{ method: "PROPFIND", path: "", headers: depth("1"), status: 207 },
      body: find(
        "creationdate",
        "displayname",
        "getcontentlength",
        "getcontenttype",
        "getetag",
        "getlastmodified",
        "resourcetype",
      ),
    },
    {
      method: "PROPFIND",
      path: "",
      headers: depth("0"),
      body: find("quota-available-bytes", "quota-used-bytes"),
      status: 207,
    },
    { method: "PUT", path: "note.txt", headers: { "if-none-match": "*" }, body: "", status: 201 },
    { method: "PUT", path: "note.txt", body: "text", status: 204 },
    { method: "MOVE", path: "note.txt", headers: { destination: "note 2.txt", overwrite: "F" }, status: 201 },
    { method: "COPY", path: "note 2.txt", headers: { destination: "note.txt", overwrite: "F" }, status: 201 },
    { method: "DELETE", path: "note.txt", status: 204 },
  ],
  // github.com/laurent22/joplin/issues/4556, /4045, /3746, /2022
  Joplin: [
    { method: "GET", path: "info.json", headers: { "if-none-match": "JoplinIgnore-15789" }, status: 404 },
    { method: "MKCOL", path: "locks", status: 201 },
    { method: "MKCOL", path: "locks/", status: 405 },
    { method: "MKCOL", path: "temp/", status: 201 },
    {
      method: "PROPFIND",
      path: "locks/",
      headers: { ...depth("1"), "if-none-match": "JoplinIgnore-89981" },
      status: 207,
      body: find("getlastmodified", "resourcetype"),
    },
    {
      method: "PUT",
      path: "temp/timeCheck268903.txt",
      headers: { "if-none-match": "JoplinIgnore-94848" },
      body: "timeCheck",
      status: 201,
    },
    {
      method: "PROPFIND",
      path: "temp/timeCheck268903.txt",
      headers: depth("0"),
      status: 207,
      body: find("getlastmodified", "resourcetype"),
      has: "GMT",
    },
    { method: "DELETE", path: "temp/timeCheck268903.txt", status: 204 },
    { method: "PUT", path: "locks/sync_desktop_9b3d.json", body: '{"type":"sync"}', status: 201 },
    { method: "PUT", path: "locks/sync_desktop_9b3d.json", body: '{"type":"sync"}', status: 204 },
    { method: "PROPFIND", path: "locks", headers: depth("1"), status: 207, has: "sync_desktop_9b3d.json" },
    { method: "DELETE", path: "locks/gone.json", status: 404 },
  ],
};

describe.each(Object.entries(CLIENTS))("%s", (client, steps) => {
  let venue: DavVenue;
  beforeAll(async () => {
    venue = await serveDav();
  });
  afterAll(() => venue.close());

  test.each(["docs", "home"])("does its work in %s", async (root) => {
    const top = `/dav/${root}/${client}`;
    await venue.dav("MKCOL", top);
    const urlOf = (path: string): string => (path.startsWith("/") ? path : `${top}/${encodeURI(path)}`);
    let held = "";
    const said: string[] = [];
    for (const { method, path, headers = {}, body, token, as = "operator", status, has } of steps) {
      const { destination } = headers;
      const answer: Answer = await venue.dav(method, urlOf(path), {
        as,
        headers: {
          ...headers,
          ...(destination === undefined ? {} : { destination: `${venue.url}${urlOf(destination)}` }),
          ...(token === "if" ? { if: `(${held})` } : token === "lock-token" ? { "lock-token": held } : {}),
        },
        ...(body === undefined ? {} : { body }),
      });
      held = String(answer.headers["lock-token"] ?? held);
      said.push(`${method} ${path} ${answer.status}`);
      expect(said.at(-1)).toBe(`${method} ${path} ${status}`);
      // Drives keep their own times.
      if (has !== undefined && !(root === "home" && has.startsWith("Fri, 15"))) expect(answer.text).toContain(has);
    }
  });
});
