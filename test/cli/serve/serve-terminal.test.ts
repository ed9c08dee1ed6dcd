// What `serve` says to somebody who sits at a terminal.
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, expect, test } from "@jest/globals";
import type { CommandContext } from "../../../src/cli/context.js";
import { serve } from "../../../src/cli/serve/serve.js";
import { cleanUp, makeFolder } from "../process.js";

afterAll(cleanUp);

function listenTo(stream: PassThrough) {
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const until = async (wanted: string): Promise<string> => {
    while (!text.includes(wanted)) await once(stream, "data");
    return text;
  };
  return { until, text: () => text };
}

/** Runs `serve` with a terminal, or without one. */
async function serveOn(folder: string, isTTY: boolean) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, { isTTY }));
  if (stdout === undefined || stderr === undefined) throw new Error("no streams");
  let [stop, reload] = [() => {}, () => {}];
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const context = {
    ...{ env: { HOME: folder }, cwd: folder, stdin: new PassThrough(), stdout, stderr },
    untilStopped: () => stopped,
    onReload: (callback: () => void) => {
      reload = callback;
    },
  } as unknown as CommandContext;
  const [out, err] = [listenTo(stdout), listenTo(stderr)];
  const status = serve({ file: join(folder, "venue.json5"), roots: [], listener: { port: 0 } }, context);
  await out.until("Stop with Ctrl-C");
  return { out, err, status, stop: () => stop(), reload: () => reload() };
}

const VENUE = `{ stateDir: "state", log: { file: "venue.log" } }`;

test.each([true, false])(
  "shows the operator's token if it is one (%s), and says when it has stopped",
  async (isTTY) => {
    const folder = makeFolder({ "venue.json5": VENUE });
    const { out, err, status, stop } = await serveOn(folder, isTTY);
    const token = readFileSync(join(folder, "state/local-token"), "utf8").trim();
    expect(out.text().includes(token)).toBe(isTTY);
    expect(out.text().includes(join(folder, "state/local-token"))).toBe(!isTTY);
    stop();
    expect(await status).toBe(0);
    expect(out.text()).toMatch(/Stop with Ctrl-C\.\nStopped\.\n$/);
    expect(err.text()).toBe("");
  },
);

test("tells there why a reload failed, and where", async () => {
  const folder = makeFolder({ "venue.json5": VENUE });
  const { err, status, stop, reload } = await serveOn(folder, true);
  const path = join(folder, "venue.json5");
  writeFileSync(path, `${VENUE.slice(0, -1)}, prot: 1 }`);
  reload();
  expect(await err.until("did you mean")).toBe(
    `The configuration of ${path} was not reloaded, the old one stays in force:\n` +
      `${path}:1:51: Unknown config key 'prot' - did you mean 'port'?\n`,
  );
  stop();
  await status;
});

test("leaves that to the log where there is none", async () => {
  const folder = makeFolder({ "venue.json5": VENUE });
  const { err, status, stop, reload } = await serveOn(folder, false);
  writeFileSync(join(folder, "venue.json5"), "{ prot: 1 }");
  reload();
  stop();
  await status;
  expect(err.text()).toBe("");
});
