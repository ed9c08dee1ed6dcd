// What `serve` says where its output is kept, as by systemd or Docker: where the page is and how to sign in, and no secret.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { CLI, cleanUp, makeFolder, type Running, serve, start } from "../process.js";

afterAll(cleanUp);

/** Starts `serve` with a configuration that says its port. */
async function serveAt(config: string, env: Record<string, string> = {}): Promise<Running> {
  const running = start(["serve", "--config", config], { env });
  await running.until(/Stop with Ctrl-C/);
  return running;
}

/** Runs what the first line says, as a shell does in another folder. @returns the line, and what comes of it */
function follow({ stdout, tmp }: Running) {
  const said = /^Open (\S+\/workspace\/) with a link from: venue-files (.+)\n/.exec(stdout());
  const [, page = "", command = ""] = said ?? [];
  const { status, stdout: made } = spawnSync("sh", ["-c", `exec "$0" "$1" ${command}`, process.execPath, CLI], {
    ...{ cwd: makeFolder(), encoding: "utf8", env: { PATH: process.env["PATH"], HOME: tmp } },
  });
  return { page, command, status, made };
}

const secretsIn = (text: string): string[] => text.match(/#login=|vft_|Bearer [A-Za-z0-9_-]{20,}/g) ?? [];

test("a venue of one's own names the command alone", async () => {
  const venue = await serve(["--root", `docs=${makeFolder()}`]);
  const { page, command, status, made } = follow(venue);
  expect([page, command, status]).toEqual([`${venue.url}/workspace/`, "link", 0]);
  expect(made).toMatch(new RegExp(`^${venue.url}/workspace/#login=\\S+\\n$`));
  expect(secretsIn(`${venue.stdout()}${venue.stderr()}`)).toEqual([]);
});

test("a service, several venues and a folder of state: the command leads there from anywhere", async () => {
  const one = (name: string) => ({ name, port: 0, file: { roots: { docs: makeFolder() } } });
  const cases: [object, Record<string, string>][] = [
    [one("files"), { STATE_DIRECTORY: `${makeFolder()}:/other` }],
    [{ ...one("files"), stateDir: join(makeFolder(), "it's state") }, {}],
    [{ venues: [one("docs"), one("scratch")] }, {}],
  ];
  for (const [config, env] of cases) {
    const venue = await serveAt(join(makeFolder({ "c.json5": JSON.stringify(config) }), "c.json5"), env);
    const { page, command, status, made } = follow(venue);
    expect([status, made]).toEqual([0, expect.stringContaining(`${page}#login=`)]);
    expect(command).toMatch(/^link --url http:\/\/localhost:\d+ --token \S/);
    expect(secretsIn(`${venue.stdout()}${venue.stderr()}`)).toEqual([]);
  }
});

test("behind a proxy the page is where the proxy is; without a token of the operator there is no command", async () => {
  const proxied = { port: 0, baseUrl: "https://files.test/f", workspace: true };
  const config = (more: object) => join(makeFolder({ "c.json5": JSON.stringify({ ...proxied, ...more }) }), "c.json5");
  const auth = { localToken: true, public: { enabled: false } };
  const venue = await serveAt(config({ auth }));
  const { page, made } = follow(venue);
  expect(page).toBe("https://files.test/f/workspace/");
  expect(made).toMatch(/^https:\/\/files\.test\/f\/workspace\/#login=/);
  const without = await serveAt(config({ auth: { public: { enabled: false } } }));
  expect(without.stdout()).toMatch(/^Open https:\/\/files\.test\/f\/workspace\/\n/);
  const pageless = await serveAt(config({ workspace: false, auth }));
  expect(pageless.stdout()).toMatch(/^venue-files /);
});
