// What `npm run bench` measures besides timed calls.
import { appendFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { expectEqual } from "./expect.mjs";
import { shown, times } from "./harness.mjs";
import { memoryOf } from "./machine.mjs";
import { callOf } from "./subjects.mjs";

const SERVERS = ["ours", "theirs"];
const MIB = 2 ** 20;
const FLIGHT = 16;
const SPARSE_BYTES = 10 * 2 ** 30;
const WORK = {
  "read-1k": 3_000,
  stat: 1_000,
  "write-1k": 1_000,
  "list-1000": 50,
  "tree-5k": 10,
  "read-5m": 20,
  "write-5m": 20,
};

/** Bytes of one answer on the server's stdout, beside those of the file. */
async function measureWire({ row, rows, ports }) {
  for (const { title, forms, setting, payload, mostOnWire } of rows.filter((one) => one.mostOnWire !== undefined)) {
    const [ours, theirs] = await Promise.all(
      SERVERS.map(async (name) => {
        const port = await ports.get(name, { setting, isRaw: true });
        forms[name].check(await forms[name].run(port.call, 0, name), 0, name);
        return port.lastAnswerBytes() / payload;
      }),
    );
    const beside = `server-filesystem ${times(theirs)}`;
    row({ what: `${title}: bytes on the wire / payload`, value: ours, unit: "x", beside, most: mostOnWire });
  }
}

/** Tokens that `tools/list` costs whoever puts it before a model. */
async function measureTools({ row, ports }) {
  const { encode } = await import("gpt-tokenizer/encoding/o200k_base");
  const [ours, theirs] = await Promise.all(
    SERVERS.map(async (name) => {
      const { tools } = await (await ports.get(name, { isRaw: true })).request("tools/list", {});
      return { tools: tools.length, tokens: encode(JSON.stringify(tools)).length };
    }),
  );
  const beside = `${ours.tools} tools; server-filesystem ${theirs.tools} in ${shown(theirs.tokens)}`;
  row({ what: "`tools/list`, tokens (o200k_base)", value: ours.tokens, unit: "", beside, most: 3_300 });
}

/** Peak of memory of fresh servers after some work. @param work `(formOf, call)`; `formOf(id)` gives a form of a row */
async function peakRow({ row, rows, ports }, { what, most }, work) {
  const peaks = {};
  for (const name of SERVERS) {
    const server = await ports.fresh(name);
    await work((id) => rows.find((one) => one.id === id).forms[name], callOf(name, server), name);
    peaks[name] = memoryOf(server.pid).peak / MIB;
    await server.close();
  }
  row({ what, value: peaks.ours, unit: "MiB", beside: `server-filesystem ${shown(peaks.theirs, "MiB")}`, most });
}

/** The same work, one call after the other. */
const measureMemory = (context) =>
  peakRow(context, { what: "peak memory after the same work" }, async (formOf, call, name) => {
    for (const [id, calls] of Object.entries(WORK)) {
      const count = Math.ceil(calls / (context.quick ? 10 : 1));
      for (let index = 0; index < count; index++) await formOf(id).run(call, index, `memory-${name}`);
    }
  });

const measureFlight = (context) =>
  peakRow(context, { what: "peak memory of 16 reads of 5 MB in flight", most: 300 }, async (formOf, call, name) => {
    const form = formOf("read-5m");
    const results = await Promise.all(Array.from({ length: FLIGHT }, () => form.run(call, 0, name)));
    for (const result of results) form.check(result, 0, name);
  });

/** What the peak of our memory grows by where lines of a file of 10 GB are read. */
async function measureSparse({ row, ports, fixture: { at, deep } }) {
  const path = deep("sparse.log");
  const head = "a line of the log\n".repeat(100_000);
  writeFileSync(at(path), head);
  truncateSync(at(path), SPARSE_BYTES);
  appendFileSync(at(path), "\nthe last line\n");
  const server = await ports.fresh("ours");
  const read = async (input) => (await callOf("ours", server)("read", input)).content[0].text;
  // What every call needs, such as modules that are loaded at the first one.
  await read({ path: deep("note-0.md"), line: 1, limit: 1 });
  const before = memoryOf(server.pid).peak;
  expectEqual(await read({ path, mode: "text", line: 50_000, limit: 100 }), head.slice(0, 1_800), "100 lines");
  expectEqual(await read({ path, mode: "text", tail: 1 }), "the last line\n", "the last line");
  const value = (memoryOf(server.pid).peak - before) / MIB;
  row({ what: "memory for 100 lines of 10 GB", value, unit: "MiB", most: 64 });
  await server.close();
  rmSync(at(path));
}

export const EXTRAS = [
  { id: "wire", title: "bytes on the wire", run: measureWire },
  { id: "tools", title: "tools/list", run: measureTools },
  { id: "sparse", title: "100 lines of 10 GB", run: measureSparse },
  { id: "memory", title: "peak memory", run: measureMemory },
  { id: "flight", title: "peak memory of 16 reads of 5 MB in flight", run: measureFlight },
];
