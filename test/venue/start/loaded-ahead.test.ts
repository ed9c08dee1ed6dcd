// A venue that is out of descriptors for a moment serves as before once it has some again.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { packageFile } from "../../../src/core/package-files.js";

/** The connection is open before, and so served without another descriptor. */
const VENUE = `
  import { closeSync, openSync, readFileSync } from "node:fs";
  import { Agent, request } from "node:http";
  import { createVenue } from ${JSON.stringify(packageFile("dist/index.js").href)};
  const venue = await createVenue({
    ...{ port: 0, seedFile: "seed", stateDir: "state", file: { roots: { r: { path: "r" } } } },
    auth: { public: { enabled: true, caps: [{ with: "file://r/", can: "crud" }] } },
  });
  const { url } = await venue.listen();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = (body) => new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const sent = request(new URL("/api/v1/run", url), { method: "POST", agent, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece) => (text += piece)).on("end", () => resolve([answer.statusCode, JSON.parse(text)]));
    });
    sent.on("error", reject).end(body);
  });
  const json5 = (operation, input) => "{ operation: '" + operation + "', input: " + JSON.stringify(input) + " }";
  const stat = { root: "r", path: "" };
  await send(JSON.stringify({ operation: "file:stat", input: stat }));
  const had = [];
  try { for (;;) had.push(openSync("/dev/null")); } catch {}
  const without = await send(json5("file:stat", stat));
  for (const fd of had) closeSync(fd);
  const withSome = await send(json5("file:stat", stat));
  const lmdb = readFileSync("/proc/self/maps", "latin1").includes("lmdb");
  console.log(JSON.stringify({ without: without[0], withSome: withSome[0], lmdb }));
  agent.destroy();
  await venue.close();
`;

test("no module stays lost, and the journal's is there before the first change", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-ahead-")));
  mkdirSync(join(folder, "r"));
  try {
    const node = [process.execPath, "--input-type=module", "--eval", VENUE];
    const { stdout, stderr } = spawnSync("sh", ["-c", `ulimit -n 256; exec "$@"`, "sh", ...node], {
      ...{ cwd: folder, encoding: "utf8" },
    });
    expect([stderr, stdout]).toEqual(["", '{"without":500,"withSome":200,"lmdb":true}\n']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
