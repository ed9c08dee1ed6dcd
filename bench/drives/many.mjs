// Small files in a large directory, beside a host root by the same operations, and beside git.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openAdapter, openDrives } from "../drive-stores.mjs";
import { expectEqual } from "../expect.mjs";
import { shown, times } from "../harness.mjs";
import { inTurns, median, timed } from "../timing.mjs";
import { git } from "./big.mjs";

const DRIVE = "many";
const LISTS = 5;
const IN_ONE = 1000;

const nameOf = (file) => `file-${file}.txt`;
const contentOf = (file) => `${file} `.padEnd(1023, `${file * 7919} `);

/** The same store, which counts the cells that it is given. */
function counting(store, cells) {
  const batch = () => {
    const inner = store.batch();
    return {
      put(hash, bytes) {
        cells.count += 1;
        cells.bytes += bytes.length;
        return inner.put(hash, bytes);
      },
      flush: () => inner.flush(),
      commit: (...args) => inner.commit(...args),
    };
  };
  return new Proxy(store, {
    get(target, key) {
      if (key === "batch") return batch;
      const value = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

export async function measureMany({ values, quick, row }, { store, folder }, count) {
  const cells = { count: 0, bytes: 0 };
  const drives = openDrives(counting(store, cells));
  const host = join(folder, "host");
  mkdirSync(host);
  const durability = values.flush ? "flush" : "none";
  const { call, close } = await openAdapter(drives, { [DRIVE]: { dlfs: DRIVE }, host: { path: host, durability } });
  const fill = await timed(async () => {
    for (let at = 0; at < count; at += IN_ONE) {
      await drives.owner.change(DRIVE, async (tree) => {
        for (let file = at; file < at + IN_ONE; file++)
          await tree.writeFile([nameOf(file)], Buffer.from(contentOf(file)));
      });
    }
  });
  const bare = await timed(() => {
    for (let file = 0; file < count; file++) writeFileSync(join(host, nameOf(file)), contentOf(file));
  });
  git(host, "init", "-q");
  const added = await timed(() => git(host, "add", "."));
  const total = shown(count);
  const beside = `bare files ${times(fill / bare)}, git add ${times(fill / added)}`;
  row({ what: `write ${total} files of 1 KB, 1000 a change`, value: fill, beside });

  const files = (round) => ({ path: nameOf((round * 7919) % count), content: contentOf(count + round) });
  const grown = [];
  const write = (root) => (round) => timed(() => call("write", { root, ...files(round) }));
  const read = (root) => (round) =>
    timed(async () => {
      const { path, content } = files(round);
      expectEqual((await call("read", { root, path })).content, content, "What is read");
    });
  const found = await inTurns(quick ? 50 : 200, {
    async write(round) {
      const before = { ...cells };
      const ms = await write(DRIVE)(round);
      grown.push([cells.count - before.count, cells.bytes - before.bytes]);
      return ms;
    },
    hostWrite: write("host"),
  });
  const reads = await inTurns(found.write.length, { read: read(DRIVE), hostRead: read("host") });
  const hostRow = (what, [ours, theirs], more) => {
    const value = median(ours);
    row({ what, value, beside: `host root ${times(value / median(theirs))}`, ...more });
  };
  hostRow(`overwrite 1 KB in ${total}, file:write`, [found.write, found.hostWrite], { most: 5 });
  row({ what: "… new cells", value: median(grown.map(([one]) => one)), unit: "", most: 16 });
  row({ what: "… their bytes", value: median(grown.map(([, bytes]) => bytes)), unit: "", most: 16_384 });
  hostRow(`read 1 KB in ${total}, file:read`, [reads.read, reads.hostRead]);

  const lists = await inTurns(LISTS, {
    async drive() {
      const snapshot = await drives.owner.read(DRIVE);
      const ms = await timed(async () => expectEqual((await snapshot.entries([])).length, count, "Entries"));
      snapshot.release();
      return ms;
    },
    host: () =>
      timed(async () => {
        const { total: names } = await call("list", { root: "host", path: "", limit: 1 });
        expectEqual(names, count + 1, "Names");
      }),
  });
  hostRow(`list ${total} with sizes (host root: names only)`, [lists.drive, lists.host], {
    most: (150 * count) / 10_000,
  });
  await close();
  await drives.close();
  const later = openDrives(store);
  row({ what: "first change of the next process", value: await timed(() => later.owner.create("new")), most: 100 });
  await later.close();
}
