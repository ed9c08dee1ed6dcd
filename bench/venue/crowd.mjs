// Many callers of large answers at once, and the memory after them.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { shown, times } from "../harness.mjs";
import { CONNECTIONS, fire, invocation, JSON_TYPE } from "../http.mjs";
import { filesOf, temporaryDirectory } from "../lifetime.mjs";
import { startBareFiles, startOther, startVenue } from "../processes.mjs";
import { growthWhile, inTurns, median, ratios } from "../timing.mjs";

/** V8 collects a heap in which nothing more is allocated after some 100 s. */
const SETTLE_MS = 120_000;
const ROUNDS = 10;
const MB = 1e6;
/** Command line of another venue to compare with, with `{config}` for its configuration. */
const REFERENCE = process.env["VENUE_FILES_BENCH_REFERENCE"];
// Without `wait` an answer may come before the operation has ended, and in the reference it always does.
const INVOKE = "/api/v1/invoke?wait=true";

const CALLS = {
  "`file:list` of 1,000": invocation("list", { root: "docs", path: "list", limit: 1000 }),
  "`file:tree` of 5,000": invocation("tree", { root: "docs", path: "tree", maxDepth: 10, maxEntries: 5000 }),
};

export const crowdPart = { name: "crowd", run: measureCrowd };

/** A directory of 1,000 files, and a tree of 5,000 entries. */
const FILES = {
  ...filesOf(1000, (index) => `list/file-${index}.txt`, "x"),
  ...filesOf(50 * 99, (index) => `tree/folder-${index % 50}/file-${index}.txt`, "x"),
};

/** Starts a venue that reads a file of `{ venues: [{ port, file: { roots } }] }`, as the reference does. */
function startReference(docs) {
  const folder = temporaryDirectory();
  const config = join(folder, "other.json");
  const commandOf = (port) => {
    const venue = { name: "other", hostname: "localhost", port, store: "memory", file: { roots: { docs } } };
    writeFileSync(config, JSON.stringify({ venues: [venue] }));
    const [command, ...args] = REFERENCE.split(" ").map((word) => word.replace("{config}", config));
    return { command, args, cwd: folder };
  };
  const body = Object.values(CALLS)[0];
  const probe = async (url) => (await fetch(`${url}${INVOKE}`, { method: "POST", headers: JSON_TYPE, body })).ok;
  return startOther("The reference venue", commandOf, probe);
}

/** Half of the calls are lists and half trees, by turns with the bare framework over node:fs/promises, and with the reference where there is one. */
async function measureCrowd({ quick, row }) {
  const calls = quick ? 400 : 10_000;
  const amount = Math.max(CONNECTIONS, Math.round(calls / 2 / ROUNDS));
  const docs = temporaryDirectory(FILES);
  const venue = await startVenue({ file: { roots: { docs } } }, { probe: true });
  const servers = { venue, bare: await startBareFiles(docs) };
  if (REFERENCE !== undefined) servers.reference = await startReference(docs);
  const { peak } = await growthWhile(
    venue.rssBytes,
    async () => {
      for (const [what, body] of Object.entries(CALLS)) {
        const forms = Object.entries(servers).map(([name, { url }]) => [
          name,
          async () => (await fire(`${url}${INVOKE}`, { body, amount })).perSecond,
        ]);
        const before = venue.loopCpuMs();
        const found = await inTurns(ROUNDS, Object.fromEntries(forms));
        const loop = shown((venue.loopCpuMs() - before) / (amount * ROUNDS), "ms");
        const to = (other) => median(ratios(found.venue, found[other]));
        const bare = `bare framework over \`node:fs/promises\`: ${times(to("bare"))}; `;
        const value = REFERENCE === undefined ? to("bare") : to("reference");
        row({
          what: `${what} under ${CONNECTIONS} connections, of ${REFERENCE === undefined ? "the framework" : "the reference"}`,
          ...{ value, unit: "x", least: 1 },
          beside: `${bare}${shown(median(found.venue))} a second; ${loop} of the event loop each`,
        });
      }
    },
    100,
  );
  if (!quick) await sleep(SETTLE_MS);
  const settled = venue.rssBytes() / MB;
  await venue.collected();
  const { rss: after } = await venue.collected();
  const beside = `${shown(peak / MB, "MB")} at most, ${shown(after / MB, "MB")} after a collection`;
  row({ what: `${calls} such calls: memory two minutes after them`, value: settled, unit: "MB", beside, most: 300 });
  for (const { stop } of Object.values(servers)) await stop();
}
