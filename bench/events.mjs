// What followers cost: 200 writes a second over HTTP, alone and beside 64 streams of `/api/v1/events`; and whether a
// follower that keeps up loses anything. `node bench/events.mjs` after a build.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const CALLS = 1000;
const EVERY_MS = 5;
const STREAMS = 64;

const home = mkdtempSync(join(tmpdir(), "venue-files-bench-events-"));
mkdirSync(join(home, "docs"));
const caps = [{ with: "file://docs/", can: "crud" }];
const config = {
  port: 0,
  stateDir: "state",
  file: { roots: { docs: "docs" } },
  auth: { public: { enabled: true, caps } },
};
writeFileSync(join(home, "venue.json5"), JSON.stringify(config));
const cli = new URL("../dist/cli.js", import.meta.url).pathname;
const serving = spawn(process.execPath, [cli, "serve", "--config", "venue.json5"], { cwd: home });
const url = await new Promise((resolve) => {
  let text = "";
  serving.stdout.on("data", (chunk) => {
    text += chunk;
    const found = /listens on (\S+)/.exec(text);
    if (found !== null) resolve(found[1]);
  });
});

/** Milliseconds of processor time of the venue. */
function busyMs() {
  const fields = readFileSync(`/proc/${serving.pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function writes(name) {
  const times = [];
  const running = [];
  const began = performance.now();
  const busy = busyMs();
  for (let index = 0; index < CALLS; index++) {
    const wait = began + index * EVERY_MS - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const at = performance.now();
    running.push(
      fetch(`${url}/api/v1/files/docs/${name}${index}`, { method: "PUT", body: "x" }).then(async (answer) => {
        await answer.arrayBuffer();
        if (!answer.ok) throw new Error(String(answer.status));
        times.push(performance.now() - at);
      }),
    );
  }
  await Promise.all(running);
  times.sort((one, other) => one - other);
  return { p50: times[CALLS / 2], p95: times[Math.floor(CALLS * 0.95)], busyMs: busyMs() - busy };
}

const ROUNDS = 5;
const TARGET = 1.1;
/** Streams in a process of their own, so that their work is not timed with the calls. */
async function openFollowers() {
  const program = new URL("venue/event-followers.mjs", import.meta.url).pathname;
  const child = spawn(process.execPath, [program, url, String(STREAMS)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  await lines.next();
  return {
    /** @returns events of the stream that has had the fewest, once it has all or after ten seconds */
    async heard() {
      child.stdin.write(String(CALLS));
      return Number((await lines.next()).value.split(" ")[1]);
    },
    close: () => child.stdin.end(),
  };
}

const median = (numbers) => numbers.toSorted((one, other) => one - other)[numbers.length >> 1];
const shown = ({ p50, p95, busyMs: busy }) =>
  `p50 ${p50.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms, ${busy} ms of processor`;
await writes("warm");
const rounds = [];
let missed = 0;
for (let round = 0; round < ROUNDS; round++) {
  // In turns, so that whatever else happens on the machine hits both alike.
  const alone = await writes(`alone${round}-`);
  const followers = await openFollowers();
  const beside = await writes(`beside${round}-`);
  if ((await followers.heard()) < CALLS) missed += 1;
  followers.close();
  rounds.push({ alone, beside });
  console.log(`${CALLS} writes, 200 a second, alone: ${shown(alone)}; beside ${STREAMS} streams: ${shown(beside)}`);
}
const ratio = (of) => median(rounds.map(({ alone, beside }) => of(beside) / of(alone)));
const p50 = ratio((one) => one.p50);
const busy = ratio((one) => one.busyMs);
console.log(
  `medians of the ratios: p50 ${p50.toFixed(2)}x (target ${TARGET}x), p95 ${ratio((one) => one.p95).toFixed(2)}x`,
);
console.log(`processor of the venue: ${busy.toFixed(2)}x (target ${TARGET}x)`);
console.log(`rounds in which a stream missed something: ${missed}`);
if (p50 > TARGET || busy > TARGET || missed > 0) process.exitCode = 1;
serving.kill();
rmSync(home, { recursive: true, force: true });
