import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { connectOfficial, connectRaw } from "./clients.mjs";
import { expectEqual } from "./expect.mjs";
import { median } from "./measure.mjs";

const SERVER_NAMES = ["ours", "theirs"];

/**
 * From `spawn` until `initialize` is answered, in milliseconds; how much processor time it took, and how much with the first
 * call; and how much memory.
 */
export async function measureStart(ports, { quick }) {
  const times = { ours: [], theirs: [], node: [] };
  const cpu = { ours: [], theirs: [] };
  const cpuWithCall = { ours: [], theirs: [] };
  const rss = { ours: 0, theirs: 0 };
  // One start of each to bring the files into the page cache.
  const rounds = (quick ? 3 : 20) + 1;
  for (let round = 0; round < rounds; round++) {
    for (const name of SERVER_NAMES) {
      const start = process.hrtime.bigint();
      const server = await connectRaw(ports.args(name));
      if (round > 0) times[name].push(Number(process.hrtime.bigint() - start) / 1e6);
      rss[name] = Math.max(rss[name], peakRss(server.pid));
      if (round > 0) cpu[name].push(cpuMs(server.pid));
      await server.tool(...FIRST_CALLS[name](ports.root));
      if (round > 0) cpuWithCall[name].push(cpuMs(server.pid));
      await server.close();
    }
    const start = process.hrtime.bigint();
    const bare = await connectRaw([...idleArgs("idle-bare")]);
    if (round > 0) times.node.push(Number(process.hrtime.bigint() - start) / 1e6);
    await bare.close();
  }
  return { times, cpu, cpuWithCall, rssAfterStart: rss };
}

const FIRST_CALLS = {
  ours: () => ["file_list", { root: "bench", path: "" }],
  theirs: (root) => ["list_directory_with_sizes", { path: root }],
};

/** First calls of the stages at which {@link measureWarming} looks, and how many it looks at. */
const STAGES = [0, 2_000, 8_000];
const STAGE_CALLS = 250;

/** Processor time of a `stat` in fresh servers, in microseconds, when they have answered no call, and when they have answered thousands. */
export async function measureWarming(ports, { rows, quick }) {
  const row = rows.find(({ id }) => id === "stat");
  const subjects = [];
  for (const [name, form] of [
    ["ours", "ours"],
    ["theirs", "theirs"],
    ["floor", "theirs"],
  ]) {
    const server = await connectRaw(ports.args(name));
    subjects.push({ name, server, run: row.forms[form].run, next: 0, us: {} });
  }
  const call = async (subject, calls) => {
    for (let made = 0; made < calls; made++) await subject.run(subject.server.tool, subject.next++, subject.name);
  };
  for (const stage of STAGES.map((first) => (quick ? first / 10 : first))) {
    for (const subject of subjects) {
      await call(subject, stage - subject.next);
      const before = cpuMs(subject.server.pid);
      await call(subject, STAGE_CALLS);
      subject.us[stage] = ((cpuMs(subject.server.pid) - before) / STAGE_CALLS) * 1e3;
    }
  }
  for (const { server } of subjects) await server.close();
  return { calls: STAGE_CALLS, us: Object.fromEntries(subjects.map(({ name, us }) => [name, us])) };
}

/** Processor time of all threads of a process so far. */
function cpuMs(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  const times = threads.map((id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]));
  return times.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

/** Bytes of one answer on the server's stdout, for each row that has an MCP form. */
export async function measureWire(rows, ports) {
  const bytes = {};
  for (const row of rows) {
    for (const [form, portName] of [
      ["ours", "rawOurs"],
      ["theirs", "rawTheirs"],
    ]) {
      const steps = row.forms[form];
      if (steps === undefined) continue;
      const port = await ports.get(portName, row.setting);
      let sum = 0;
      const counted = async (name, args) => {
        const result = await port.tool(name, args);
        sum += port.lastAnswerBytes();
        return result;
      };
      steps.before?.(0, `wire-${form}`);
      steps.check(await steps.run(counted, 0, `wire-${form}`), 0, `wire-${form}`);
      steps.after?.(`wire-${form}`);
      bytes[row.id] = { ...bytes[row.id], [form]: sum };
    }
  }
  return bytes;
}

/** Tokens that `tools/list` costs whoever puts it before a model. */
export async function measureTools(ports) {
  const { encode } = await import("gpt-tokenizer/encoding/o200k_base");
  const counts = {};
  for (const [name, port] of [
    ["ours", "rawOurs"],
    ["theirs", "rawTheirs"],
  ]) {
    const { tools } = await (await ports.get(port)).request("tools/list", {});
    counts[name] = { tools: tools.length, tokens: encode(JSON.stringify(tools)).length };
  }
  return counts;
}

const WORK = {
  "read-1k": 3_000,
  stat: 1_000,
  "write-1k": 1_000,
  "list-1000": 50,
  "tree-5k": 10,
  "read-5m": 20,
  "write-5m": 20,
};

/** Peak memory of fresh servers after the same work, in KB. */
export async function measureMemory(rows, ports, { quick }) {
  const peaks = {};
  const work = Object.fromEntries(Object.entries(WORK).map(([id, times]) => [id, Math.ceil(times / (quick ? 10 : 1))]));
  for (const name of SERVER_NAMES) {
    const server = await connectRaw(ports.args(name));
    for (const [id, count] of Object.entries(work)) {
      const form = rows.find((row) => row.id === id)?.forms[name];
      if (form === undefined) continue;
      for (let index = 0; index < count; index++) await form.run(server.tool, index, `memory-${name}`);
    }
    peaks[name] = peakRss(server.pid);
    await server.close();
  }
  return { peaks, work };
}

const FLIGHT = 16;

/** Peak memory of fresh servers after 16 reads of 5 MB that were asked for together, in KB. */
export async function measureFlight(rows, ports) {
  const row = rows.find(({ id }) => id === "read-5m");
  const peaks = {};
  for (const name of SERVER_NAMES) {
    const server = await connectRaw(ports.args(name));
    const form = row.forms[name];
    const results = await Promise.all(Array.from({ length: FLIGHT }, () => form.run(server.tool, 0, name)));
    for (const result of results) form.check(result, 0, name);
    peaks[name] = peakRss(server.pid);
    await server.close();
  }
  return { peaks };
}

const SPARSE_BYTES = 10 * 2 ** 30;

/** Peak memory of a fresh server before and after it has read lines and bytes of a file of 10 GB, in KB. */
export async function measureSparse(ports, { at, deep }) {
  const path = deep("sparse.log");
  const head = "a line of the log\n".repeat(100_000);
  writeFileSync(at(path), head);
  truncateSync(at(path), SPARSE_BYTES);
  appendFileSync(at(path), "\nthe last line\n");
  const server = await connectRaw(ports.args("ours"));
  try {
    // What every call needs, such as modules that are loaded at the first one.
    await server.tool("file_read", { root: "bench", path: deep("note-0.md"), line: 1, limit: 1 });
    const before = peakRss(server.pid);
    const text = { root: "bench", path, mode: "text" };
    const lines = await server.tool("file_read", { ...text, line: 50_000, limit: 100 });
    expectEqual(lines.content[0].text, head.slice(0, 1_800), "100 lines");
    const last = await server.tool("file_read", { ...text, tail: 1 });
    expectEqual(last.content[0].text, "the last line\n", "the last line");
    return { before, after: peakRss(server.pid) };
  } finally {
    await server.close();
    rmSync(at(path));
  }
}

/** What happens to 5 MB of text in a client as it comes, with its limit of 10 MiB an answer. */
export async function measureDefaultBuffer(rows, ports) {
  const row = rows.find(({ id }) => id === "read-5m");
  const outcome = {};
  for (const name of SERVER_NAMES) {
    const server = await connectOfficial(ports.args(name), { defaultBuffer: true });
    const form = row.forms[name];
    try {
      form.check(await form.run(server.tool, 0, name), 0, name);
      outcome[name] = "answers";
    } catch (error) {
      outcome[name] = `fails: ${error.message}`;
    } finally {
      await server.close();
    }
  }
  return outcome;
}

const IDLE_SERVERS = {
  "idle-sdk2": "@modelcontextprotocol/server",
  "idle-sdk1": "@modelcontextprotocol/sdk",
  "idle-bare": "no SDK",
};
const idleArgs = (name) => [new URL(`servers/${name}.mjs`, import.meta.url).pathname];

/** A tool that does nothing, on both SDKs and on none, through both clients: what no server on it can be faster than. */
export async function measureFloor({ quick }) {
  const rounds = quick ? 5 : 30;
  const calls = quick ? 30 : 60;
  const subjects = [];
  for (const [server, sdk] of Object.entries(IDLE_SERVERS)) {
    for (const [client, connect] of Object.entries({ official: connectOfficial, raw: connectRaw })) {
      subjects.push({ key: `${sdk}, ${client} client`, port: await connect(idleArgs(server)), samples: [] });
    }
  }
  for (let round = -3; round < rounds; round++) {
    for (const { port, samples } of subjects) {
      for (let call = -3; call < calls; call++) {
        const start = process.hrtime.bigint();
        const result = await port.tool("idle", {});
        const time = Number(process.hrtime.bigint() - start) / 1e3;
        if (call === -3) expectEqual(result.content, [{ type: "text", text: "ok" }], "idle");
        if (round >= 0 && call >= 0) samples.push(time);
      }
    }
  }
  for (const { port } of subjects) await port.close();
  return Object.fromEntries(subjects.map(({ key, samples }) => [key, { median: median(samples), samples }]));
}

function peakRss(pid) {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN);
  } catch {
    return Number.NaN;
  }
}
