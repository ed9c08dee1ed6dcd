import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, type Running, serve, start } from "../process.js";

afterAll(cleanUp);

const OLD_TOKEN = "old-token-old-token-old-token-old-token";
const NEW_TOKEN = "new-token-new-token-new-token-new-token";

interface Parts {
  roots: string;
  token: string;
  caps?: string;
  name?: string;
}

/** What the configuration says, as JSON5. */
const configOf = ({ roots, token, caps, name }: Parts): string => `{
  name: "${name ?? "first"}", port: 0, file: { roots: { ${roots} } },
  auth: {
    tokens: [{ name: "ci", token: { file: "${token}" }, caps: [{ with: "file://", can: "crud" }] }],
    ${caps === undefined ? "" : `public: { caps: ${caps} },`}
  },
}`;

const BOTH = `tmp: { temp: true }, docs: "docs"`;

describe("SIGHUP", () => {
  let folder: string;
  let served: Running & { url: string };
  const reload = async (config: string, outcome: RegExp) => {
    writeFileSync(join(folder, "venue.json5"), config);
    served.child.kill("SIGHUP");
    await served.until(outcome, "stderr");
  };
  const call = async (operation: string, input: object, token?: string) => {
    const response = await fetch(`${served.url}/api/v1/invoke`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ operation, input, wait: true }),
    });
    const job = (await response.json()) as { status?: string; errorCode?: string; output?: unknown };
    return response.status === 201 ? (job.errorCode ?? job.output) : response.status;
  };

  beforeAll(async () => {
    folder = makeFolder({
      "docs/a.txt": "alpha",
      "more/b.txt": "beta",
      "old.token": OLD_TOKEN,
      "new.token": `${NEW_TOKEN}\n`,
      "venue.json5": configOf({ roots: BOTH, token: "old.token" }),
    });
    served = await serve(["--config", "venue.json5"], { cwd: folder });
    await call("file:write", { root: "tmp", path: "kept.txt", content: "kept" }, OLD_TOKEN);
  });

  test("takes over changed roots, tokens and rights, and keeps what has not changed", async () => {
    const roots = `tmp: { temp: true }, more: "more"`;
    const caps = `[{ with: "file://more/", can: "crud/read" }]`;
    await reload(configOf({ roots, token: "new.token", caps }), /configuration reloaded/);
    expect(await call("file:read", { root: "more", path: "b.txt" })).toMatchObject({ content: "beta" });
    expect(await call("file:read", { root: "docs", path: "a.txt" }, NEW_TOKEN)).toBe("UNKNOWN_ROOT");
    expect(await call("file:read", { root: "tmp", path: "kept.txt" })).toBe("CAPABILITY_DENIED");
    expect(await call("file:read", { root: "tmp", path: "kept.txt" }, NEW_TOKEN)).toMatchObject({ content: "kept" });
    expect(await call("file:roots", {}, OLD_TOKEN)).toBe(401);
  });

  test("keeps the files of a temp root that is only set differently", async () => {
    const roots = `tmp: { temp: true, readOnly: true }, more: "more"`;
    await reload(configOf({ roots, token: "new.token" }), /configuration reloaded[\s\S]*configuration reloaded/);
    expect(await call("file:read", { root: "tmp", path: "kept.txt" }, NEW_TOKEN)).toMatchObject({ content: "kept" });
    expect(await call("file:write", { root: "tmp", path: "x", content: "" }, NEW_TOKEN)).toBe("READ_ONLY_ROOT");
  });

  test.each([
    ["is no JSON5", "{ file: "],
    ["has an unknown key", `{ rootz: {} }`],
    ["has a root that is not there", configOf({ roots: `gone: "gone", tmp: { temp: true }`, token: "new.token" })],
    ["has a token that is not there", configOf({ roots: BOTH, token: "no.token" })],
  ])("with a file that %s changes nothing and says so, without paths", async (_what, config) => {
    const before = served.stderr().length;
    await reload(config, new RegExp(`^[\\s\\S]{${before}}[\\s\\S]*not reloaded`));
    expect(served.stderr().slice(before)).not.toContain(folder);
    expect(await call("file:read", { root: "more", path: "b.txt" }, NEW_TOKEN)).toMatchObject({ content: "beta" });
    expect(await call("file:read", { root: "tmp", path: "kept.txt" }, NEW_TOKEN)).toMatchObject({ content: "kept" });
  });

  test("names changed keys that need a new start", async () => {
    const config = configOf({ roots: BOTH, token: "new.token", name: "second" });
    await reload(config, /"keys":\["name"\][^\n]*changed keys that need a new start/);
    expect(await (await fetch(`${served.url}/api/v1/status`)).json()).toMatchObject({ name: "first" });
  });

  test("keeps drives as they were at the start, and says so", async () => {
    const before = served.stderr().length;
    const config = configOf({ roots: BOTH, token: "new.token" }).replace(
      /\}$/,
      "drives: { staleMs: 5, limits: { maxEntries: 9 } } }",
    );
    await reload(
      config,
      new RegExp(`^[\\s\\S]{${before}}[\\s\\S]*"drives\\.limits"[^\\n]*changed keys that need a new start`),
    );
    expect(served.stderr().slice(before)).toContain('"drives.staleMs"');
  });

  test("says in the log where the mistake is", async () => {
    const config = `{\n  name: "first",\n  file: { roots: { docs: { path: "docs", readOnly: 7 } } },\n}`;
    await reload(config, /"at":\["venue\.json5:3:\d+"\][^\n]*configuration not reloaded/);
    await reload(`{\n  name: "first",,\n}`, /"at":\["venue\.json5:2:\d+"\][^\n]*configuration not reloaded/);
  });

  test("never puts a token into the log", () => {
    expect(served.stderr()).not.toMatch(/new-token|old-token/);
  });
});

test("SIGHUP changes all of several venues, or none of them", async () => {
  const config = (first: string, second: string): string => `{ venues: [
    { name: "one", port: 0, file: { roots: { ${first} } } },
    { name: "two", port: 0, file: { roots: { ${second} } } },
  ] }`;
  const folder = makeFolder({
    "docs/a.txt": "alpha",
    "venue.json5": config(`docs: "docs"`, `tmp: { temp: true }`),
  });
  const served = start(["serve", "--config", "venue.json5"], { cwd: folder });
  await served.until(/Stop with Ctrl-C/);
  const urls = [...served.stdout().matchAll(/listens on (\S+)\n/g)].map(([, url]) => url);
  const rootsOf = async (url: string | undefined) => {
    const headers = { "content-type": "application/json" };
    const body = '{"operation":"file:roots"}';
    const job = (await (await fetch(`${url}/api/v1/invoke`, { method: "POST", headers, body })).json()) as Job;
    return job.output.roots.map(({ name }) => name);
  };
  const reload = async (text: string, outcome: RegExp) => {
    writeFileSync(join(folder, "venue.json5"), text);
    served.child.kill("SIGHUP");
    await served.until(outcome, "stderr");
    return [await rootsOf(urls[0]), await rootsOf(urls[1])];
  };
  expect(await reload(config(`other: "docs"`, `gone: "gone"`), /not reloaded/)).toEqual([["docs"], ["tmp"]]);
  const both = /configuration reloaded[\s\S]*configuration reloaded/;
  expect(await reload(config(`other: "docs"`, `more: "docs"`), both)).toEqual([["other"], ["more"]]);
  await served.stop();
});

test("SIGHUP has the audit go on in a new file where the old one was renamed", async () => {
  const config = `{ port: 0, seedFile: "seed", audit: { file: "audit.jsonl" }, file: { roots: { tmp: { temp: true } } } }`;
  const folder = makeFolder({ "venue.json5": config });
  const served = await serve(["--config", "venue.json5"], { cwd: folder });
  const file = join(folder, "audit.jsonl");
  const call = async () => {
    const headers = { "content-type": "application/json" };
    await fetch(`${served.url}/api/v1/run`, { method: "POST", headers, body: '{"operation":"file:roots"}' });
  };
  const calls = (path: string) => readFileSync(path, "utf8").match(/"operation":"file:roots"/g)?.length ?? 0;
  await call();
  while (calls(file) === 0) await new Promise(setImmediate);
  renameSync(file, `${file}-1`);
  served.child.kill("SIGHUP");
  await served.until(/configuration reloaded/, "stderr");
  await call();
  await served.stop();
  expect([`${file}-1`, file].map(calls)).toEqual([1, 1]);
});

interface Job {
  readonly output: { readonly roots: readonly { readonly name: string }[] };
}
