import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { compileDeny } from "../../src/path/deny.js";

const denies = (patterns: string | readonly string[], path: string, foldsCase = false): boolean =>
  compileDeny([patterns].flat(), { foldsCase }).denies(path.split("/"));

describe("a deny pattern", () => {
  const DENIED: readonly [string, string][] = [
    [".env", ".env"],
    [".env", "a/b/.env"],
    [".env", ".env/inside"],
    ["*.pem", "keys/.hidden.pem"],
    ["id_rsa*", "a/id_rsa.pub"],
    ["?", "a/x"],
    ["secret/**", "secret/a/b"],
    ["secret/**", "secret"],
    ["secret/", "a/secret/x"],
    ["/secret", "secret/x"],
    ["./secret/x", "secret/x"],
    ["a/*", "a/.b/c"],
    ["**/x", "x"],
    ["**/x", "a/b/x/c"],
    ["{a,b}/c", "b/c"],
    ["[!a]*", "b"],
    ["*", "anything"],
    ["**/x", "a\u2028b/x"],
    ["d/**", "d/a\nb"],
    ["*.key", "a\u2029.key"],
    ["[[:digit:]]*", "1x"],
    ["a b", "a b"],
    ["a\\*b", "a*b"],
  ];
  test.each(DENIED)("%j denies %j", (pattern, path) => expect(denies(pattern, path)).toBe(true));

  const ALLOWED: readonly [string, string][] = [
    [".env", ".environment"],
    [".env", "x.env"],
    ["/secret", "a/secret"],
    ["secret/x", "a/secret/x"],
    ["a/*", "a"],
    ["a/*", "b/a/c"],
    ["[!a]*", "a"],
    ["*.PEM", "x.pem"],
    ["a\\*b", "axb"],
    ["é", "e\u0301"],
  ];
  test.each(ALLOWED)("%j leaves %j alone", (pattern, path) => expect(denies(pattern, path)).toBe(false));

  test("never denies the root itself", () => {
    expect(compileDeny(["*", "**"], { foldsCase: false }).denies([])).toBe(false);
  });

  test.each([
    ["*.PEM", "x.pem"],
    ["*.pem", "X.PEM"],
    ["É", "e\u0301"],
    ["secret/**", "SECRET/x"],
    ["*.key", "x.\u212aey"],
    ["straße", "STRASSE"],
  ])("where names are folded, %j denies %j too", (pattern, path) => {
    expect(denies(pattern, path, true)).toBe(true);
    expect(denies(pattern, path, false)).toBe(false);
  });

  test.each([
    ...[".env", "a/.env", ".env.local", "x.pem", "a/b.key", "id_rsa", "id_rsa.pub", "id_ed25519", ".netrc", ".npmrc"],
    ...[".git-credentials", ".aws", ".aws/credentials", "home/.aws/x", ".ssh/known_hosts", "home/.ssh"],
  ])("@secrets denies %s", (path) => expect(denies("@secrets", path)).toBe(true));

  test.each([".envrc", "key", "pem", "aws", "ssh/x", "id_dsa", "git-credentials", ".github/workflows"])(
    "@secrets leaves %s alone",
    (path) => expect(denies("@secrets", path)).toBe(false),
  );

  test.each([
    ["!a", "it cannot begin with '!'"],
    ["", "nothing can have that name"],
    ["/", "nothing can have that name"],
    ["@secrets2", "nothing can have that name"],
    ["a//b", "it cannot hold '//', '.' or '..' as a part"],
    ["../a", "it cannot hold '//', '.' or '..' as a part"],
    ["a/../b", "it cannot hold '//', '.' or '..' as a part"],
    ["[", "a bracket, brace or range in it does not fit"],
    ["{a", "a bracket, brace or range in it does not fit"],
    ["a(", "a bracket, brace or range in it does not fit"],
    ["[z-a]", "a bracket, brace or range in it does not fit"],
    ["a\\", "a bracket, brace or range in it does not fit"],
  ])("%j is none: %s", (pattern, reason) => {
    expect(() => compileDeny([pattern], { foldsCase: false })).toThrow(reason);
  });

  test("covers everything below what it covers, however many patterns there are", () => {
    const part = fc.constantFrom("a", "b", ".c", "d.key", "é", "A", "x\u2028");
    const glob = fc.array(fc.constantFrom("a", "b", "*", "**", ".c", "*.key", "?"), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(glob, { maxLength: 3 }), fc.array(part, { minLength: 1, maxLength: 5 }), (globs, path) => {
        const patterns = globs.map((parts) => parts.join("/"));
        const policy = compileDeny(patterns, { foldsCase: false });
        const each = patterns.some((pattern) => compileDeny([pattern], { foldsCase: false }).denies(path));
        expect(policy.denies(path)).toBe(each);
        if (policy.denies(path)) expect(policy.denies([...path, "below"])).toBe(true);
        const directory = path.slice(0, -1);
        if (!policy.denies(directory)) expect(policy.deniesEntry(directory, path.at(-1) ?? "")).toBe(each);
      }),
    );
  });
});
