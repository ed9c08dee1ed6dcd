import { describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../src/config/load.js";
import { checkListener, isLoopbackHost, isLoopbackListener } from "../../src/config/loopback.js";
import type { VenueConfigInput } from "../../src/config/types.js";

const LOOPBACK = ["localhost", "LOCALHOST", "127.0.0.1", "127.0.0.0", "127.255.255.255", "127.9.87.6", "::1", "[::1]"];
const OTHER = [
  ...["0.0.0.0", "::", "[::]", "192.168.0.1", "128.0.0.1", "27.0.0.1", "example.com", "localhost.example.com"],
  ...["127.0.0.1.example.com", "127.0.0.256", "127.0.0", "127.1", "127.0.0.01", "127.0.0.1 ", "", "::11", "[::1"],
];

describe("a loopback address", () => {
  test.each(LOOPBACK)("is %s", (hostname) => expect(isLoopbackHost(hostname)).toBe(true));
  test.each(OTHER)("is not %j", (hostname) => expect(isLoopbackHost(hostname)).toBe(false));
});

describe("a loopback listener", () => {
  const isLoopback = (value: VenueConfigInput) => isLoopbackListener(parseConfig(value, { baseDir: "/base" }));
  const socket = { listen: { socket: "s" } };
  const bases = ["http://localhost", "https://LOCALHOST:8443/base", "http://127.1.2.3:8080", "http://[::1]/"];

  test.each<VenueConfigInput>([
    {},
    socket,
    { hostname: "127.0.0.2" },
    ...bases.flatMap((baseUrl) => [{ baseUrl }, { ...socket, baseUrl }]),
  ])("is %j", (value) => expect(isLoopback(value)).toBe(true));

  test("is one on a socket, whatever the host name", () => {
    expect(isLoopbackListener({ hostname: "0.0.0.0", listen: { socket: "/s" }, trustProxy: false })).toBe(true);
  });

  const outside = ["http://files.example.com", "https://localhost.example.com", "http://192.168.0.1", "http://[::2]"];
  test.each<VenueConfigInput>([
    { hostname: "0.0.0.0" },
    { hostname: "::" },
    { trustProxy: true },
    { ...socket, trustProxy: true },
    { hostname: "0.0.0.0", baseUrl: "http://localhost" },
    { trustProxy: true, baseUrl: "http://localhost" },
    ...outside.flatMap((baseUrl) => [{ baseUrl }, { ...socket, baseUrl }]),
  ])("is not %j", (value) => expect(isLoopback(value)).toBe(false));
});

describe("a venue that listens", () => {
  const check = (value: VenueConfigInput) => checkListener(parseConfig(value, { baseDir: "/base" }));

  test.each(["localhost", "127.0.0.2", "::1"])("on %s needs no word on public access", (hostname) => {
    expect(check({ hostname })).toBeUndefined();
  });

  test.each(["0.0.0.0", "example.com"])("on %s is refused without one", (hostname) => {
    expect(check({ hostname, auth: { public: { caps: [] } } })).toBe(
      `Refusing to start: '${hostname}' is not a loopback address. Set auth.public.enabled to true or false explicitly.`,
    );
  });

  test.each<VenueConfigInput>([
    { trustProxy: true },
    { baseUrl: "https://files.example.com" },
    { baseUrl: "https://localhost.example.com" },
    { listen: { socket: "s" }, trustProxy: true },
    { listen: { socket: "s" }, baseUrl: "https://files.example.com" },
    { hostname: "0.0.0.0", trustProxy: true },
  ])("on %j is refused without one, since it is behind a proxy", (value) => {
    expect(check(value)).toBe(
      "Refusing to start: this venue is reachable from outside. Set auth.public.enabled to true or false explicitly.",
    );
  });

  test("is refused in one line that shows what cannot be seen", () => {
    expect(check({ hostname: "a\u001b[2J" })).toMatch(
      /^Refusing to start: 'a\\u\{1b\}\[2J' is not a loopback address\. /,
    );
  });

  const issuers = [{ issuer: "https://sso.example.com", map: [{ when: {}, caps: [] }] }];
  const auth = { public: { enabled: false }, issuers };
  test.each<VenueConfigInput>([{ hostname: "0.0.0.0" }, { baseUrl: "http://files.example.com" }])(
    "on %j is refused with issuers: a token would be for an address that anybody on the way can take",
    (value) => {
      expect(check({ ...value, auth })).toBe(
        "Refusing to start: auth.issuers needs a baseUrl by https:// (or a loopback one), since tokens are for that address.",
      );
      expect(check({ ...value, auth: { public: { enabled: false } } })).toBeUndefined();
    },
  );
  test.each<VenueConfigInput>([
    {},
    { listen: { socket: "s" } },
    { baseUrl: "http://[::1]:80/a" },
    { hostname: "0.0.0.0", baseUrl: "https://files.example.com" },
  ])("on %j may have issuers", (value) => expect(check({ ...value, auth })).toBeUndefined());

  test.each([true, false])("anywhere is fine with auth.public.enabled: %s", (enabled) => {
    const auth = { public: { enabled } };
    expect(check({ hostname: "0.0.0.0", auth })).toBeUndefined();
    expect(check({ trustProxy: true, baseUrl: "https://files.example.com", auth })).toBeUndefined();
  });
});
