import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Clock } from "../../../../src/core/clock.js";
import type { Log } from "../../../../src/core/ports/log.js";
import { IssuerKeys, KeysGone } from "../../../../src/venue/identity/issuers/keys.js";
import { keyPair, TestIssuer } from "./issuer.js";

const METADATA = "/.well-known/oauth-authorization-server";
const DISCOVERY = "/.well-known/openid-configuration";
const MINUTE = 60_000;

let issuer: TestIssuer;
let now = 0;
let reasons: unknown[] = [];
const clock: Clock = { nowMs: () => now, monotonicMs: () => now };
const log = { warn: ({ reason }: { reason: unknown }) => void reasons.push(reason) } as unknown as Log;
const keysOf = (jwks?: string) => new IssuerKeys({ issuer: issuer.url, jwks, clock, log });
const found = async (keys: IssuerKeys, kid: unknown = "1") => {
  try {
    return (await keys.findFor(kid)).length;
  } catch (error) {
    if (!(error instanceof KeysGone)) throw error;
    return error.retryAfterMs;
  }
};
/** How often a path was asked for since the last question. */
const asked = (path: string) => issuer.paths.splice(0).filter((one) => one === path).length;

beforeEach(async () => {
  [now, reasons] = [1_000_000, []];
  issuer = await new TestIssuer().listen();
});
afterEach(() => issuer.close());

describe("the keys of an issuer", () => {
  test("are found by its metadata, and kept for ten minutes", async () => {
    const keys = keysOf();
    expect([await found(keys), await found(keys), asked("/jwks")]).toEqual([1, 1, 1]);
    now += 10 * MINUTE - 1;
    expect([await found(keys), asked("/jwks")]).toEqual([1, 0]);
    now += 1;
    issuer.keys = [await keyPair("ES256", "2")];
    expect([await found(keys, "2"), asked("/jwks")]).toEqual([1, 1]);
  });

  test("are found by OpenID Connect Discovery where there are no other metadata", async () => {
    issuer.serve(METADATA, (_request, response) => void response.writeHead(404).end());
    issuer.serve(DISCOVERY, (_request, response) => {
      response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }));
    });
    expect(await found(keysOf())).toBe(1);
    expect(issuer.paths).toEqual([METADATA, DISCOVERY, "/jwks"]);
  });

  test("are asked for where the configuration says, and nowhere else", async () => {
    expect(await found(keysOf(`${issuer.url}/jwks`))).toBe(1);
    expect(issuer.paths).toEqual(["/jwks"]);
  });

  test("are found below the path of an issuer, in both places", async () => {
    const keys = new IssuerKeys({ issuer: `${issuer.url}/realms/a/`, clock, log });
    await found(keys);
    expect(issuer.paths).toEqual([
      "/.well-known/oauth-authorization-server/realms/a",
      "/realms/a/.well-known/openid-configuration",
    ]);
  });

  test("are read again for one that is unknown, each 30 seconds at most", async () => {
    const keys = keysOf();
    expect([await found(keys, "2"), asked("/jwks")]).toEqual([0, 1]);
    issuer.keys.push(await keyPair("ES256", "2"));
    now += 30_000 - 1;
    expect([await found(keys, "2"), asked("/jwks")]).toEqual([0, 0]);
    now += 1;
    expect([await found(keys, "2"), asked("/jwks")]).toEqual([1, 1]);
    for (const kid of ["3", "4", "5"]) expect(await found(keys, kid)).toBe(0);
    expect(asked("/jwks")).toBe(0);
  });

  test("hold for an hour while the issuer is gone, which is asked each 30 seconds at most, and then no more", async () => {
    const keys = keysOf();
    await found(keys);
    const [text = ""] = (await keys.findFor("1")).map((key) => key.text);
    issuer.serve("/jwks", (_request, response) => void response.writeHead(500).end());
    now += 10 * MINUTE;
    expect([await found(keys), await found(keys), asked("/jwks")]).toEqual([1, 1, 2]);
    now += 50 * MINUTE - 1;
    expect([await found(keys), keys.holds(text), asked("/jwks")]).toEqual([1, true, 1]);
    now += 1;
    expect([await found(keys), keys.holds(text)]).toEqual([30_000 - 1, false]);
    now += 30_000;
    issuer.own.clear();
    expect([await found(keys), keys.holds(text)]).toEqual([1, true]);
  });

  test("that are taken back hold no more after the next read", async () => {
    const keys = keysOf();
    const [text = ""] = (await keys.findFor("1")).map((key) => key.text);
    issuer.keys = [await keyPair("ES256", "1")];
    now += 10 * MINUTE;
    await keys.refresh();
    expect(keys.holds(text)).toBe(false);
  });

  test("are read once for all calls that wait, and those beyond 64 are sent away", async () => {
    let go = () => {};
    issuer.serve("/jwks", (_request, response) => {
      go = () => void response.end(issuer.jwks);
    });
    const keys = keysOf();
    const waiting = Array.from({ length: 70 }, () => found(keys));
    expect(await Promise.all(waiting.slice(64))).toEqual(Array(6).fill(1000));
    while (asked("/jwks") === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    go();
    expect(await Promise.all(waiting.slice(0, 64))).toEqual(Array(64).fill(1));
    expect(asked("/jwks")).toBe(0);
  });

  test("that are malformed are left out, and spoil no other", async () => {
    const [key] = issuer.keys;
    const keys = [5, null, {}, { kty: "oct", k: "c2VjcmV0", kid: "1" }, { kty: 7, kid: "1" }, key?.jwk];
    issuer.serve("/jwks", (_request, response) => void response.end(JSON.stringify({ keys })));
    const read = await keysOf().findFor("1");
    const fits = await Promise.allSettled(
      read.map(async ({ find }) => find({ alg: "ES256", kid: "1" }, { payload: "", signature: "" })),
    );
    expect(fits.filter(({ status }) => status === "fulfilled").length).toBe(1);
  });
});

describe("keys are not read", () => {
  /** Away: by a host name that the configuration does not name, though it is this very machine. */
  const elsewhere = (host: string) => `http://${host}:${new URL(issuer.url).port}/jwks`;

  test.each<[string, unknown, () => void]>([
    ["a redirect", "it is answered with status 302", () => redirect("/jwks", "/other")],
    ["what is larger than 512 KiB", "it is larger than 524288 bytes", () => send("/jwks", huge())],
    [
      "what is compressed",
      "it is compressed",
      () => send("/jwks", gzipSync(issuer.jwks), { "content-encoding": "gzip" }),
    ],
    ["no JSON", "it is not JSON", () => send("/jwks", "<html>")],
    ["no set", "it is no set of keys", () => send("/jwks", "[]")],
    [
      "metadata of another issuer",
      "its metadata name another issuer; it is answered with status 404",
      () => metadata({ issuer: "https://other.example" }),
    ],
    [
      "metadata of the issuer with a slash",
      "its metadata name another issuer; it is answered with status 404",
      () => metadata({ issuer: `${issuer.url}/` }),
    ],
    [
      "metadata without keys",
      "its metadata name no URL of keys by HTTPS; it is answered with status 404",
      () => metadata({ jwks_uri: undefined }),
    ],
    [
      "metadata with keys by HTTP",
      "its metadata name no URL of keys by HTTPS; it is answered with status 404",
      () => metadata({ jwks_uri: "http://a.example/" }),
    ],
    [
      "keys at a loopback name that is not named",
      "its address is private",
      () => metadata({ jwks_uri: elsewhere("localhost") }),
    ],
    [
      "keys at a loopback address that is not named",
      "its address is refused",
      () => metadata({ jwks_uri: elsewhere("127.0.0.2") }),
    ],
    ["keys at a private address", "its address is refused", () => metadata({ jwks_uri: "https://10.0.0.1/" })],
    [
      "keys at an address of the link",
      "its address is refused",
      () => metadata({ jwks_uri: "https://169.254.169.254/" }),
    ],
    ["keys at an address in decimal", "its address is refused", () => metadata({ jwks_uri: "https://3232235521/" })],
    ["keys at IPv6's loopback", "its address is refused", () => metadata({ jwks_uri: "https://[::1]/" })],
    [
      "keys at an IPv4 address in IPv6",
      "its address is refused",
      () => metadata({ jwks_uri: "https://[::ffff:192.168.0.1]/" }),
    ],
    ["keys at one by NAT64", "its address is refused", () => metadata({ jwks_uri: "https://[64:ff9b::a00:1]/" })],
    ["keys at a unique local address", "its address is refused", () => metadata({ jwks_uri: "https://[fd00::1]/" })],
    ["a closed port", "ECONNREFUSED", () => metadata({ jwks_uri: "https://127.0.0.1:1/" })],
  ])("from %s", async (_what, reason, given) => {
    given();
    expect(await found(keysOf())).toBe(30_000);
    expect(reasons).toEqual([reason]);
    expect(issuer.paths).not.toContain("/other");
  });

  const redirect = (path: string, location: string) =>
    issuer.serve(path, (_request, response) => void response.writeHead(302, { location }).end());
  const send = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
    issuer.serve(path, (_request, response) => void response.writeHead(200, headers).end(body));
  const huge = () => JSON.stringify({ keys: [], filler: "x".repeat(524_288) });
  const metadata = (given: object) =>
    send(METADATA, JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, ...given }));

  test.each<[string, (path: string) => void]>([
    ["never answers", (path) => issuer.serve(path, () => {})],
    [
      "never ends its answer",
      (path) =>
        issuer.serve(path, (_request, response) => {
          const timer = setInterval(() => response.write(" "), 100);
          response.once("close", () => clearInterval(timer));
        }),
    ],
  ])("from one that %s, for which nobody waits longer than 5 seconds", async (_what, given) => {
    given("/jwks");
    const begun = performance.now();
    expect(await found(keysOf())).toBe(30_000);
    expect(reasons).toEqual(["no answer within 5 s"]);
    expect(performance.now() - begun).toBeLessThan(20_000);
  });
});
