import fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { walkEntries } from "../../../src/backend/host/walk.js";
import type { HostWalkOptions } from "../../../src/backend/host/walk-options.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import type { WalkEntry, WalkStep } from "../../../src/core/ports/backend.js";
import type { EngineName } from "../../../src/jail/handles.js";
import { Jail } from "../../../src/jail/jail.js";
import { NativeSource } from "../../../src/jail/native/calls.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { type Arena, expectClosedSoon, inArena, openDescriptors } from "../../jail/arena.js";
import { describeWhere } from "../../needs.js";

const NO_CALLS = "native calls (koffi) cannot be loaded";
/** With native calls from the first one, and without any. */
const ENGINES = ["openat2", "handle walk"] as const;
const RULE_FILES = [".rules", "rules.txt"];
/** More than a directory that is read at once has. */
const MANY = 1200;

interface Walked {
  /** In order: entries with all that is told of them, rule files by depth, and what could not be read. */
  readonly events: unknown[];
}

interface Visits {
  /** Before the entry is answered for. */
  readonly visit?: (path: string) => WalkStep | undefined;
  readonly options?: Partial<HostWalkOptions>;
  readonly denies?: (names: readonly string[]) => boolean;
}

async function walk({ root }: Arena, engine: EngineName, { visit, options, denies }: Visits = {}): Promise<Walked> {
  const jail = new Jail({ path: root, readOnly: true, crossDevice: false, io: "sync", engine }, new Locks());
  const scope = new CallScope({ clock: systemClock, timeoutMs: 60_000 });
  const events: unknown[] = [];
  const names: string[] = [];
  const seen = (kind: string, entry: WalkEntry): WalkStep => {
    names.splice(entry.depth - 1, Number.POSITIVE_INFINITY, entry.name);
    const { isUsual, ...told } = entry;
    expect(isUsual !== true || /^[ -~]*$/.test(entry.name)).toBe(true);
    events.push([kind, names.join("/"), told]);
    return visit?.(names.join("/")) ?? (entry.type === "directory" ? "enter" : "skip");
  };
  const policy = denies && {
    denies: (below: readonly string[], name: string) => denies([...below, name]),
    isDoubtful: () => false,
  };
  try {
    await runIo(
      walkEntries(jail, jail.top, {
        visit: (entry) => seen("visit", entry),
        visitDenied: (entry) => seen("denied", entry),
        unreadable: () => events.push(["unreadable", names.join("/")]),
        exhausted: () => events.push(["exhausted", names.join("/")]),
        rules: {
          names: RULE_FILES,
          maxBytes: 100,
          found: (depth, contents) => {
            const texts = RULE_FILES.map((_, index) => contents[index]?.toString());
            events.push(["rules", depth, texts]);
          },
        },
        sizes: true,
        access: { scope, ...(policy === undefined ? {} : { policy }) } as HostWalkOptions["access"],
        ...options,
      }),
    );
  } finally {
    await jail.close();
  }
  return { events };
}

function makeTree({ root, file, directory, link, outside }: Arena): void {
  const names = [
    "plain",
    "Capital",
    "a:b",
    "back\\slash",
    "…",
    "é",
    "line\nbreak",
    "bell\u0007",
    "~tilde",
    "x".repeat(200),
  ];
  for (const name of names) {
    file(`names/${name}`, name);
    file(`folders/${name}/inner`, name);
  }
  fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/names/`), Buffer.from([0xff, 0xfe])]), "no text");
  file("ruled/.rules", "one");
  file("ruled/rules.txt", "two");
  file("ruled/below/more/.rules", "x".repeat(200));
  file("ruled/below/z", "");
  directory("ruled/empty");
  directory("ruled/folder/.rules");
  link("ruled/linked/.rules", "../.rules");
  for (let at = 0; at < MANY; at++) file(`many/some-longer-name-of-a-file-${at}`, "");
  file("many/zz/last", "");
  file(`deep/${"d/".repeat(40)}end`, "");
  file("deep/behind", "");
  link("links/out", outside);
  link("links/in", "../deep");
  directory(".venue-files/staged");
  file("secret/a/b", "");
}

/** In the same order with both engines: they differ in nothing but time. */
async function expectEqual(arena: Arena, visits: (arena: Arena) => Visits = () => ({})): Promise<unknown[]> {
  const walked: unknown[][] = [];
  for (const engine of ENGINES) {
    arena.reset();
    makeTree(arena);
    const before = openDescriptors();
    const { events } = await walk(arena, engine, visits(arena));
    await expectClosedSoon(before);
    // Times differ between the two trees.
    walked.push(JSON.parse(JSON.stringify(events, (key, value) => (TIMES.has(key) ? undefined : value))));
  }
  expect(walked[0]).toEqual(walked[1]);
  return walked[0] ?? [];
}

const TIMES = new Set(["modified", "changed", "version", "identity"]);
const within = (events: readonly unknown[], kind: string): unknown[] =>
  events.filter((event) => Array.isArray(event) && event[0] === kind);

describeWhere(new NativeSource(0).load() !== undefined, NO_CALLS)("a walk with native calls", () => {
  test.each([true, false])("sees what one without them sees, in the same order (with sizes: %s)", (sizes) =>
    inArena(async (arena) => {
      const events = await expectEqual(arena, () => ({ options: { sizes } }));
      expect(within(events, "visit").length).toBeGreaterThan(MANY);
      expect(events).toContainEqual(["rules", 1, ["one", "two"]]);
      expect(events).toContainEqual(["rules", 3, ["too large", null]]);
      expect(within(events, "visit").some((one) => JSON.stringify(one).includes(".venue-files"))).toBe(false);
      expect(within(events, "unreadable")).toEqual([]);
    }),
  );

  test("does so where entries are denied, and tells of them alone", () =>
    inArena(async (arena) => {
      const denies = (names: readonly string[]) => names[0] === "secret" || names.at(-1) === ".rules";
      const events = await expectEqual(arena, () => ({ denies }));
      expect(within(events, "denied").map((one) => (one as unknown[])[1])).toContain("secret/a/b");
      expect(events).not.toContainEqual(["rules", 1, ["one", "two"]]);
      expect(events).toContainEqual(["rules", 1, [null, "two"]]);
    }));

  test("does so where directories vanish, move or become links while it is in them", () =>
    inArena(async (arena) => {
      const events = await expectEqual(arena, ({ root, outside }) => ({
        visit: (path) => {
          const at = (name: string) => join(root, name);
          if (path === "deep/d") {
            fs.rmSync(at("deep/d"), { recursive: true });
            fs.symlinkSync(outside, at("deep/d"));
          }
          if (path === "ruled/below") fs.rmSync(at("ruled/below"), { recursive: true });
          if (path === "folders/plain/inner") fs.renameSync(at("folders"), at("moved"));
          if (path === "secret/a") fs.writeFileSync(at("secret/new"), "");
          return undefined;
        },
      }));
      const seen = JSON.stringify(events);
      expect(seen).not.toContain("canary");
      expect(seen).not.toContain("ruled/below/more");
    }));

  test("stops where it is told to, and closes what it has open", () =>
    inArena(async (arena) => {
      const events = await expectEqual(arena, () => ({
        visit: (path) => (path.endsWith("d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d") ? "stop" : undefined),
      }));
      expect(events.at(-1)).toEqual(expect.arrayContaining(["visit", `deep/${"d/".repeat(19)}d`]));
    }));
});
