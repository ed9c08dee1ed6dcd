// A console of Windows that is closed: Node tells it as SIGHUP there, and the system ends the process a little later.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, start, tempRootsIn } from "../process.js";

afterAll(cleanUp);

const SYSTEM = 'Object.defineProperty(process, "platform", { value: "win32" })';
const AS_WINDOWS = `--import=data:text/javascript,${encodeURIComponent(SYSTEM)}`;

test("serve ends in order when its console is closed", async () => {
  const config = { port: 0, stateDir: "./state", file: { roots: { tmp: { temp: true } } } };
  const folder = makeFolder({ "venue.json5": JSON.stringify(config) });
  const temp = makeFolder();
  const announced = () => readdirSync(join(folder, "state"), { recursive: true }).map(String);
  const env = { NODE_OPTIONS: AS_WINDOWS, TEMP: temp };
  const venue = start(["serve", "--config", "venue.json5"], { cwd: folder, env });
  await venue.until(/Stop with Ctrl-C/);
  expect(tempRootsIn(temp)).not.toEqual([]);
  expect(announced()).toContainEqual(expect.stringMatching(/running\.json$/));
  expect(await venue.stop("SIGHUP")).toMatchObject({ status: 0, signal: null });
  expect(tempRootsIn(temp)).toEqual([]);
  expect(announced()).not.toContainEqual(expect.stringMatching(/running\.json$/));
});
