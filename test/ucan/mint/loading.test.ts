import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, startNode } from "../../cli/process.js";

afterAll(cleanUp);

const built = (file: string): string => JSON.stringify(new URL(`../../../dist/${file}`, import.meta.url).href);

const MINT = `
  import { mint } from ${built("ucan/mint/mint.js")};
  import { newSeed, signingKeyFromSeed } from ${built("ucan/mint/signing-key.js")};
  import { createUcanVerifier } from ${built("ucan/verify/verifier.js")};
  import { createPublicKeys } from ${built("ucan/verify/public-keys.js")};
  import { FILE_SEMANTICS } from ${built("authz/grant.js")};
  import { systemClock } from ${built("core/clock.js")};

  const [key, other] = [signingKeyFromSeed(newSeed()), signingKeyFromSeed(newSeed())];
  const rules = { semantics: FILE_SEMANTICS, clock: systemClock, clockSkewSeconds: 30, maxLifetimeSeconds: 86_400 };
  const capabilities = [{ with: "file://docs/", can: "crud/read" }];
  const mintAs = (profile) => mint({ key, audience: other.did, capabilities, profile }, rules);
  const verifier = createUcanVerifier({
    ...rules,
    keys: createPublicKeys(),
    revocations: { has: () => false },
    canonicalDid: (did) => did,
    allowNoExpiry: false,
    acceptUnversionedCovia: false,
  });
  const count = ({ token }) => verifier.read([token])[0].verdict(key.did).grants.length;
`;

/** Runs built code under plain Node. @returns what it prints, and the packages of which any code has run */
async function run(text: string): Promise<{ readonly stdout: string; readonly packages: readonly string[] }> {
  const folder = makeFolder();
  const running = startNode(["--input-type=module", "--eval", MINT + text], { env: { NODE_V8_COVERAGE: folder } });
  const { status, stdout, stderr } = await running.ended;
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const urls = readdirSync(folder).flatMap((file) => {
    const report = JSON.parse(readFileSync(join(folder, file), "utf8")) as { result: { url: string }[] };
    return report.result.map(({ url }) => url);
  });
  const names = urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? "");
  return { stdout, packages: [...new Set(names)] };
}

describe("built and under plain Node,", () => {
  test("a process that mints for Covia and verifies does not load the library of UCAN 0.8", async () => {
    const { stdout, packages } = await run("console.log(count(await mintAs('covia')));");
    expect(stdout).toBe("1\n");
    expect(packages).toContain("@scure/base");
    expect(packages.filter((name) => /ucans/.test(name))).toEqual([]);
  });

  test("one that mints in version 0.8 does, and our verifier takes the token", async () => {
    const { stdout, packages } = await run("console.log(count(await mintAs('ucan-0.8')));");
    expect(stdout).toBe("1\n");
    expect(packages).toContain("@ucans/core");
  });
});

test("the library of UCAN 0.8 is used in one file alone, and there only when it is needed", () => {
  const sources = new URL("../../../src/", import.meta.url);
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const isUse = /(?:from|import\(|require\(|laterPackage.*)\s*["'](?:ucans|@ucans\/[^"']*)["']/;
  const using = files.filter((file) => isUse.test(readFileSync(new URL(file, sources), "utf8")));
  expect(using).toEqual(["ucan/mint/ucan08.ts"]);
  const text = readFileSync(new URL("ucan/mint/ucan08.ts", sources), "utf8");
  expect(text.match(/^.*["']ucans["'].*$/gm)).toEqual([
    'import type { DidableKey } from "ucans";',
    'const loadUcans = laterPackage<typeof import("ucans")>(createRequire(import.meta.url), "ucans");',
  ]);
});
