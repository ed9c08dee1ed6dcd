import { describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../src/config/load.js";
import { checkListener, isLoopbackHost } from "../../src/config/loopback.js";
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

  test.each([true, false])("anywhere is fine with auth.public.enabled: %s", (enabled) => {
    expect(check({ hostname: "0.0.0.0", auth: { public: { enabled } } })).toBeUndefined();
  });
});
