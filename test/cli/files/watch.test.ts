import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, type Running, run, serve, start } from "../process.js";

const folder = makeFolder({ "docs/a.txt": "1" });
afterAll(cleanUp);

/** Touches a file until the command shows that it watches. */
async function begun(running: Running, shown: RegExp): Promise<void> {
  const touching = setInterval(() => writeFileSync(join(folder, "docs/begun"), String(Math.random())), 150);
  try {
    await running.until(shown);
  } finally {
    clearInterval(touching);
  }
}

test("watch shows a line for each change, until it is stopped", async () => {
  const running = start(["watch", "d:", "--root", "d=docs"], { cwd: folder });
  await begun(running, /^[+~] begun {2}\(external\)\n/);
  mkdirSync(join(folder, "docs/new"));
  await running.until(/\+ new\/ {2}\(external\)\n/);
  renameSync(join(folder, "docs/a.txt"), join(folder, "docs/new/b.txt"));
  await running.until(/\+ new\/b\.txt {2}\(external\)\n/);
  rmSync(join(folder, "docs/new"), { recursive: true });
  await running.until(/- new\/ {2}\(external\)\n/);
  const { status, stdout } = await running.stop("SIGINT");
  expect(status).toBe(0);
  expect(stdout).toContain("- a.txt  (external)\n");
});

test("watch --json --url shows what a venue elsewhere changes", async () => {
  const venue = await serve(["--root", "d=docs"], { cwd: folder });
  const running = start(["watch", "d:", "--json", "--url", venue.url], { cwd: folder });
  await begun(running, /"path":"begun".*\n/);
  writeFileSync(join(folder, "docs/own.txt"), "1");
  await running.until(/\{"type":"created","path":"own\.txt","entryType":"file","origin":"external"\}\n/);
  await running.stop("SIGINT");
  // Asked to end, it would wait five seconds for the job of the call that the client has just left.
  await venue.stop("SIGKILL");
});

test("watch of what is not there says so", async () => {
  expect(await run(["watch", "d:none", "--root", "d=docs"], { cwd: folder })).toMatchObject({
    ...{ status: 1, stderr: expect.stringContaining("Not found: d:none") },
  });
  expect(await run(["watch", "--root", "d=docs"], { cwd: folder })).toMatchObject({ status: 64 });
});
