#!/usr/bin/env node
// A soak: many clients with mixed operations against one venue for twenty minutes, or fewer with --minutes. Fails on an
// unexpected status, on a wrong answer, and when the heap after a collection or the resident size still grows after a warm-up.
import { createHash, randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { cleanUp, cleanUpWhateverHappens, temporaryDirectory } from "./lifetime.mjs";
import { startVenue } from "./venue/process.mjs";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "20" }, clients: { type: "string", default: "64" } },
});
const SAMPLE_MS = 1000;
/** Collections in a run, spread evenly: few, for each of them makes the resident size smaller too. */
const COLLECTIONS = 16;
/** The last quarter may be so much above the second; the first is the warm-up. Allocators are not exact, collections are. */
const MAX_GROWTH = { heap: 1.1, rss: 1.15 };

const pick = (list) => list[Math.floor(Math.random() * list.length)];

/** One client: its own folder, its own connection, mixed calls one after the other. */
class SoakClient {
  #venue;
  #name;
  #counts;
  #known = [];

  constructor(venue, name, counts) {
    this.#venue = venue;
    this.#name = name;
    this.#counts = counts;
  }

  async run(untilMs) {
    await this.#invoke("mkdir", { path: this.#name });
    while (Date.now() < untilMs) {
      const step = pick([
        "write",
        "write",
        "read",
        "read",
        "stat",
        "list",
        "tree",
        "append",
        "delete",
        "asset",
        "jobs",
        "sse",
        "fail",
        "mcp",
      ]);
      await this[`_${step}`]();
    }
  }

  _write = async () => {
    const path = `${this.#name}/${Math.floor(Math.random() * 50)}.txt`;
    const content = randomBytes(Math.ceil(Math.random() * 20_000)).toString("hex");
    const { output } = await this.#invoke("write", { path, content });
    if (output?.written !== content.length) throw new Error(`write answered ${JSON.stringify(output)}`);
    this.#known.push(path);
  };

  _read = async () => {
    const path = pick(this.#known);
    if (path !== undefined) await this.#invoke("read", { path, ...pick([{}, { offset: 10, length: 100 }]) });
  };

  _stat = () => this.#invoke("stat", { path: pick(this.#known) ?? "nothing" });
  _list = () => this.#invoke("list", { path: this.#name });
  _tree = () => this.#invoke("tree", { path: this.#name, info: "size" });
  _append = () => this.#invoke("append", { path: `${this.#name}/log.txt`, content: "line\n" });
  _fail = () => this.#invoke("read", { path: `${this.#name}/../../escape` });

  _delete = async () => {
    const [path] = this.#known.splice(0, 1);
    if (path !== undefined) await this.#invoke("delete", { path });
    await this.#invoke("delete", { path: `${this.#name}/log.txt` });
  };

  _asset = async () => {
    // Few different ones: assets are never deleted.
    const content = Buffer.alloc(50_000, `asset ${Math.floor(Math.random() * 20)}`);
    const sha256 = createHash("sha256").update(content).digest("hex");
    const id = await this.#json("POST", "/api/v1/assets", { name: sha256, content: { sha256 } });
    await this.#send("PUT", `/api/v1/assets/${id}/content`, { body: content });
    await this.#invoke("write", { path: `${this.#name}/asset.bin`, asset: id });
  };

  _jobs = async () => {
    const { items } = await this.#json("GET", "/api/v1/jobs?limit=5");
    if (items[0] !== undefined) await this.#send("GET", `/api/v1/jobs/${items[0]}`, {}, [200, 404]);
  };

  _sse = async () => {
    const { id } = await this.#invoke("list", { path: this.#name });
    await this.#send("GET", `/api/v1/jobs/${id}/sse`, {}, [200, 404]);
  };

  _mcp = async () => {
    const params = { name: "file_list", arguments: { root: "tmp", path: this.#name } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    await this.#send("POST", "/mcp", { body, headers });
  };

  #invoke(operation, input) {
    return this.#json("POST", "/api/v1/invoke", { operation: `file:${operation}`, input: { root: "tmp", ...input } });
  }

  async #json(method, path, body) {
    const init =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    return JSON.parse(await this.#send(method, path, init));
  }

  async #send(method, path, init, allowed = [200, 201]) {
    const response = await fetch(this.#venue.url + path, { method, ...init });
    const text = await response.text();
    const key = `${method} ${path.replace(/[0-9a-f]{32,}/, "<id>").replace(/\?.*/, "")} ${response.status}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    if (!allowed.includes(response.status)) throw new Error(`${key}: ${text.slice(0, 300)}`);
    return text;
  }
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;

/** Samples the memory of a venue until it is told to end. */
class MemoryWatch {
  rss = [];
  heap = [];
  #timers;
  #pending = Promise.resolve();

  constructor(venue, ms) {
    const collect = async () => {
      const { heapUsed, heapTotal, external, rss } = await venue.collected();
      this.heap.push(heapUsed + external);
      const parts = { heapUsed, heapTotal, external, rss, other: rss - heapTotal - external };
      const shown = Object.entries(parts).map(([name, bytes]) => `${name} ${megabytes(bytes)}`);
      process.stdout.write(`collection ${this.heap.length} of ${COLLECTIONS}: ${shown.join(", ")}\n`);
    };
    this.#timers = [
      setInterval(() => this.rss.push(venue.rssBytes()), SAMPLE_MS),
      setInterval(() => {
        this.#pending = this.#pending.then(collect);
      }, ms / COLLECTIONS),
    ];
  }

  async end() {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#pending;
  }
}

/** How a series went on after its warm-up. @returns what is wrong with it, if anything is */
function judge(name, samples, mostGrowth) {
  const quarter = Math.floor(samples.length / 4);
  if (quarter === 0) return `${name}: too few samples`;
  const [early, late] = [median(samples.slice(quarter, 2 * quarter)), median(samples.slice(-quarter))];
  const growth = late / early;
  process.stdout.write(
    `${name}: ${megabytes(early)} in the second quarter, ${megabytes(late)} in the last (${growth.toFixed(2)}x, limit ${mostGrowth}x), ${megabytes(Math.max(...samples))} at most\n`,
  );
  return growth > mostGrowth ? `${name} still grows` : undefined;
}

async function main() {
  cleanUpWhateverHappens();
  const folder = temporaryDirectory();
  const minutes = Number(values.minutes);
  const config = {
    audit: { file: `${folder}/audit.jsonl` },
    file: { roots: { tmp: { temp: true } } },
    // A shorter run keeps fewer jobs than the default, so that it is past its warm-up after a quarter too.
    jobs: { max: Math.min(10_000, Math.max(100, Math.round(500 * minutes))) },
  };
  const venue = await startVenue(folder, config, { probe: true });
  const counts = new Map();
  const ms = minutes * 60_000;
  const untilMs = Date.now() + ms;
  const watch = new MemoryWatch(venue, ms);
  const clients = Array.from(
    { length: Number(values.clients) },
    (_, index) => new SoakClient(venue, `c${index}`, counts),
  );
  await Promise.all(clients.map((client) => client.run(untilMs)));
  await watch.end();
  const after = await venue.collected();
  await venue.stop();
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  for (const [key, count] of [...counts].sort()) process.stdout.write(`${String(count).padStart(8)} ${key}\n`);
  process.stdout.write(`${total} requests by ${values.clients} clients in ${values.minutes} min\n`);
  const faults = [
    judge("heap after collection", watch.heap, MAX_GROWTH.heap),
    judge("resident size", watch.rss, MAX_GROWTH.rss),
  ].filter((fault) => fault !== undefined);
  process.stdout.write(
    `at the end, after a collection: heap ${megabytes(after.heapUsed + after.external)}, resident ${megabytes(after.rss)}\n`,
  );
  if (faults.length > 0) throw new Error(faults.join("; "));
}

main().then(
  () => {
    cleanUp();
    process.exit(0);
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
