import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "@jest/globals";
import ts from "typescript";
import { ARCHIVE_OPERATIONS, OPERATIONS, STREAM_OPERATIONS } from "../src/ops/registry.js";

const project = new URL("../", import.meta.url);

/** Who may import whom: only groups further to the left. */
const ORDER: readonly (readonly string[])[] = [
  ["core"],
  ["database", "process"],
  ["path", "schema", "ucan", "audit", "drive", "feed", "version"],
  ["jail", "backend", "journal", "roots", "authz", "backend-suite", "search", "documents"],
  ["ops"],
  ["dispatch", "config"],
  ["adapter"],
  ["profiles", "sandbox", "surfaces"],
  ["venue"],
  ["cli", "index"],
];

/** Within a group, too, only some may import others. */
const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  backend: ["jail"],
  roots: ["jail", "backend", "journal"],
};

const MAY_USE_FILES = [
  /^jail\//,
  /^backend\/host\//,
  /^(config|schema)\/load\.ts$/,
  /^audit\/(rotating-file|rotation|checkpoints|verify|index-file)\.ts$/,
  /^venue\/(assets\/(files|bucket)|start\/(dav|socket-file|workspace|state\/(migrate|migration-lock|running|state-dir|unfinished-restore|secrets))|telemetry\/log|shared\/admin|identity\/(revocation-file|revocation-guard|access-store))\.ts$/,
  /^drive\/store\//,
  /^database\/(shared-database|check-pages|durable-files|environment|room)\.ts$/,
  /^process\/(host-path|private-folder|spawn-alone|identity)\.ts$/,
  /^journal\/(pending-log|note-records|check-tables|place)\.ts$/,
  // They look what the system has, and open nothing of a root.
  /^sandbox\/bwrap\//,
  /^cli\/(load-config|checks\/(check|doctor)|mcp\/client-roots|init\/(init|client-file)|output\/(new-file|held-folder)|backup\/(contents|places|restore|roots|archive)|tokens\/(key|token-files)|drives\/move|files\/local)\.ts$/,
  /^(version|cli)\.ts$/,
];

/** What some folders never import, whatever the order allows. */
const NEVER: readonly { readonly who: RegExp; readonly what: RegExp }[] = [
  { who: /^core\//, what: /^(?!core\/)/ },
  { who: /^path\//, what: /^(?!core\/|path\/)/ },
  { who: /^feed\//, what: /^(?!core\/|feed\/|node:crypto$)/ },
  { who: /^drive\/(?:[^/]+|cad3\/.*|dlfs\/.*)$/, what: /^(?!core\/|drive\/(?:[^/]+|cad3\/.*|dlfs\/.*)$|node:crypto$)/ },
  { who: /^ops\//, what: /^(ajv|node:fs.*|node:child_process|backend\/.*|jail\/.*|ucan\/.*)$/ },
  // It is for others, in whatever they run their tests.
  { who: /^backend-suite\//, what: /^(?!core\/|path\/|backend-suite\/|node:timers)/ },
  { who: /^search\//, what: /^(?!core\/|path\/|search\/|node:(?:buffer|crypto|worker_threads)$|re2js$)/ },
  {
    who: /^documents\//,
    what: /^(?!core\/|process\/|documents\/|node:(?:child_process|module|stream|url|worker_threads|zlib)$|(?:unpdf|htmlparser2|saxes|yauzl)$)/,
  },
  { who: /^(?!documents\/kinds\/(?:pdf|html)\.ts$)/, what: /^(?:unpdf|htmlparser2)$/ },
  { who: /^(?!documents\/package\.ts$|backend\/archive\/)/, what: /^yauzl$/ },
  { who: /^authz\//, what: /^(node:|backend\/|jail\/|path\/)/ },
  { who: /^(?!database\/|journal\/tables\.ts$)/, what: /^lmdb$/ },
  // It must never see a token of anybody's: decision 18.
  { who: /^(?!ucan\/mint\/ucan08\.ts$)/, what: /^ucans$/ },
  { who: /^surfaces\//, what: /^(node:fs|jail\/|backend\/|roots\/|ops\/|dispatch\/|path\/)/ },
];

/** Imports that may close a circle, with the reason. A circle that stays without them is a fault. */
const MAY_CLOSE_CIRCLES: Readonly<Record<string, string>> = {
  "drive/cad3/value.ts": "a type only: a value is one of the classes, and each of them holds values",
};

const MAX_LINES = 300;
/** As long as the operations make it. */
const GENERATED = "schema/types.ts";

/**
 * Most lines of rooms that belong together. A commit that takes something out lowers its number; one that raises a number says why.
 * Generated code and `backend-suite`, which is published for others, are not counted.
 */
const BUDGETS: readonly (readonly [rooms: string, lines: number])[] = [
  ["core", 5_660],
  ["database process version", 1_240],
  ["path schema documents", 3_760],
  ["jail", 4_720],
  ["backend", 13_550],
  ["drive", 14_530],
  ["ops", 13_920],
  ["search authz ucan", 5_110],
  ["audit feed journal", 5_240],
  ["dispatch", 3_580],
  ["config adapter roots", 2_880],
  ["sandbox profiles", 5_580],
  ["surfaces", 15_430],
  ["venue", 14_520],
  ["cli index", 12_910],
];

/** A folder is read as a whole. */
const MAX_FILES = 18;
/** One file for each operation. */
const OPERATIONS_ROOM = "ops";

type Sources = ReadonlyMap<string, string>;

/** `core/io.ts` → `core`; `cli.ts` → `cli`. */
const groupOf = (file: string): string => file.replace(/\.ts$/, "").split("/")[0] ?? "";
const rankOf = (group: string): number => ORDER.findIndex((groups) => groups.includes(group));

/** Modules that a file imports in any way: those of ours as paths below `src`, others by their name. */
function importsOf(file: string, source: string): string[] {
  return ts
    .preProcessFile(source, true, true)
    .importedFiles.map(({ fileName }) =>
      fileName.startsWith(".") ? posix.join(posix.dirname(file), fileName).replace(/\.js$/, ".ts") : fileName,
    );
}

function* importViolations(file: string, source: string): Generator<string> {
  const group = groupOf(file);
  if (rankOf(group) < 0) yield `${file}: '${group}' has no place in the order`;
  for (const imported of importsOf(file, source)) {
    const external = !imported.endsWith(".ts");
    const other = groupOf(imported);
    const allowed = other === group || rankOf(other) < rankOf(group) || NEIGHBOURS[group]?.includes(other) === true;
    if (!external && !allowed) yield `${file} imports ${imported}, which is not to its left`;
    if (/^node:fs/.test(imported) && !MAY_USE_FILES.some((who) => who.test(file))) yield `${file} uses files`;
    if (NEVER.some(({ who, what }) => who.test(file) && what.test(imported))) yield `${file} never imports ${imported}`;
  }
}

function* textViolations(file: string, source: string): Generator<string> {
  if (/^export default\b/m.test(source)) yield `${file} has a default export`;
  if (/^export \*/m.test(source)) yield `${file} exports everything of another`;
  if (/from "\.[^"]*(?<!\.js)"/.test(source)) yield `${file} imports a file of ours without .js`;
  if (/(from|import\() ?"(fs|path|os|crypto|util|url|http|net|buffer|stream|events|child_process)[/"]/.test(source)) {
    yield `${file} imports a module of Node without node:`;
  }
  if (/\bprocess\.(env|on|once)\b/.test(source) && file !== "cli.ts") yield `${file} uses the process`;
  if (/\bprocess\.platform\b/.test(source) && file !== "core/system.ts")
    yield `${file} asks for the system: core/system.ts does`;
  if (/\bnew URL\([^)]*import\.meta\.url/s.test(source) && file !== "core/package-files.ts") {
    yield `${file} locates a file of the package by itself: core/package-files.ts does`;
  }
  const lines = source.split("\n").length - 1;
  if (lines > MAX_LINES && file !== GENERATED) yield `${file} has ${lines} lines`;
}

/** Imports that lead back to where they start, of types too. Each circle is found once, where it is closed. */
function circlesOf(sources: Sources): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      const circle = [...path.slice(path.indexOf(file)), file].join(" → ");
      circles.push(`${circle} is a circle: move what both ends need into a file of its own, or into one of them`);
    }
    if (done.has(file)) return;
    done.add(file);
    const source = file in MAY_CLOSE_CIRCLES ? undefined : sources.get(file);
    for (const imported of source === undefined ? [] : importsOf(file, source)) visit(imported, [...path, file]);
  };
  for (const file of sources.keys()) visit(file, []);
  return circles;
}

function* crowdedRooms(sources: Sources): Generator<string> {
  const counts = new Map<string, number>();
  for (const file of sources.keys()) counts.set(posix.dirname(file), (counts.get(posix.dirname(file)) ?? 0) + 1);
  for (const [room, count] of counts) {
    if (count > MAX_FILES && room !== OPERATIONS_ROOM) {
      yield `${room}/ has ${count} files: put those that are read together in a folder of their own`;
    }
  }
}

/** Lines of some rooms, as `wc -l` counts them. */
function linesOf(sources: Sources, rooms: string): number {
  const own = [...sources].filter(([file]) => file !== GENERATED && rooms.split(" ").includes(groupOf(file)));
  return own.reduce((sum, [, source]) => sum + source.split("\n").length - 1, 0);
}

const overBudget = (sources: Sources, budgets: typeof BUDGETS): string[] =>
  budgets.flatMap(([rooms, most]) => {
    const lines = linesOf(sources, rooms);
    return lines > most ? [`${rooms}: ${lines} lines, at most ${most}`] : [];
  });

function violationsOf(sources: Sources): string[] {
  return [
    ...[...sources].flatMap(([file, source]) => [...importViolations(file, source), ...textViolations(file, source)]),
    ...circlesOf(sources),
    ...crowdedRooms(sources),
  ];
}

function readSources(): Sources {
  const folder = new URL("src/", project);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  return new Map(files.map((file) => [file, readFileSync(new URL(file, folder), "utf8")]));
}

describe("the sources", () => {
  const sources = readSources();

  test("import only to the left, use files only where they may, and keep the style", () => {
    expect(sources.size).toBeGreaterThan(60);
    expect(violationsOf(sources)).toEqual([]);
  });

  test("keep to the budgets of their rooms, and every room has one", () => {
    expect(overBudget(sources, BUDGETS)).toEqual([]);
    const budgeted = BUDGETS.flatMap(([rooms]) => rooms.split(" "));
    expect([...budgeted, "backend-suite"].sort()).toEqual([...new Set(ORDER.flat())].sort());
  });

  test("close every circle that they may, by a type", () => {
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      importsOf(from, sources.get(from) ?? "").some((next) => {
        if (next === to) return true;
        if (seen.has(next)) return false;
        seen.add(next);
        return reaches(next, to, seen);
      });
    expect(Object.keys(MAY_CLOSE_CIRCLES).filter((file) => !reaches(file, file))).toEqual([]);
    for (const file of Object.keys(MAY_CLOSE_CIRCLES)) expect(sources.get(file)).not.toMatch(/^import (?!type )/m);
  });

  test("import only files that are there", () => {
    const missing = [...sources].flatMap(([file, source]) =>
      importsOf(file, source).filter((imported) => imported.endsWith(".ts") && !sources.has(imported)),
    );
    expect(missing).toEqual([]);
  });
});

describe("the checker", () => {
  const wrong: readonly [string, string, string][] = [
    ["core/x.ts", 'import { y } from "../path/order.js";', "core/x.ts imports path/order.ts, which is not to its left"],
    ["core/x.ts", 'import type { Y } from "../ops/y.js";', "core/x.ts imports ops/y.ts, which is not to its left"],
    ["core/x.ts", 'import { isUtf8 } from "node:buffer";', "core/x.ts never imports node:buffer"],
    [
      "path/x.ts",
      'export { y } from "../audit/record.js";',
      "path/x.ts imports audit/record.ts, which is not to its left",
    ],
    [
      "jail/x.ts",
      'import "../backend/host/host.js";',
      "jail/x.ts imports backend/host/host.ts, which is not to its left",
    ],
    [
      "ops/x.ts",
      'import { HostBackend } from "../backend/host/host.js";',
      "ops/x.ts never imports backend/host/host.ts",
    ],
    ["ops/x.ts", 'const { Ajv } = await import("ajv");', "ops/x.ts never imports ajv"],
    ["ops/x.ts", 'import { readFile } from "node:fs/promises";', "ops/x.ts uses files"],
    ["backend/drive/x.ts", 'import fs from "node:fs";', "backend/drive/x.ts uses files"],
    ["surfaces/http/x.ts", 'import { read } from "../../ops/read.js";', "surfaces/http/x.ts never imports ops/read.ts"],
    [
      "surfaces/http/x.ts",
      'import { open } from "../../venue/start/open-venue.js";',
      "surfaces/http/x.ts imports venue/start/open-venue.ts, which is not to its left",
    ],
    [
      "dispatch/x.ts",
      'const x = import("../adapter/adapter.js");',
      "dispatch/x.ts imports adapter/adapter.ts, which is not to its left",
    ],
    [
      "adapter/adapter.ts",
      'import { z } from "../index.js";',
      "adapter/adapter.ts imports index.ts, which is not to its left",
    ],
    ["utils/x.ts", "", "utils/x.ts: 'utils' has no place in the order"],
    ["core/x.ts", "export default 1;", "core/x.ts has a default export"],
    ["core/x.ts", 'export * from "./io.js";', "core/x.ts exports everything of another"],
    ["ops/x.ts", 'import { y } from "./y";', "ops/x.ts imports a file of ours without .js"],
    ["jail/x.ts", 'import { join } from "path";', "jail/x.ts imports a module of Node without node:"],
    ["venue/x.ts", "const home = process.env;", "venue/x.ts uses the process"],
    ["jail/x.ts", "const linux = process.platform;", "jail/x.ts asks for the system: core/system.ts does"],
    ["venue/x.ts", 'process.once("SIGINT", stop);', "venue/x.ts uses the process"],
    ["venue/x.ts", 'process.once("exit", stop);', "venue/x.ts uses the process"],
    [
      "venue/x.ts",
      'const x = new URL("../../schemas/x.json", import.meta.url);',
      "venue/x.ts locates a file of the package by itself: core/package-files.ts does",
    ],
    ["core/x.ts", "\n".repeat(301), "core/x.ts has 301 lines"],
  ];
  test.each(wrong)("finds what is wrong in %s: %s", (file, source, violation) => {
    expect(violationsOf(new Map([[file, source]]))).toContain(violation);
  });

  const circles: readonly [string, Readonly<Record<string, string>>, string][] = [
    [
      "of two files",
      { "core/x.ts": 'import { y } from "./y.js";', "core/y.ts": 'import { x } from "./x.js";' },
      "core/x.ts → core/y.ts → core/x.ts",
    ],
    [
      "of types, behind a file outside it",
      {
        "core/a.ts": 'export { x } from "./x.js";',
        "core/x.ts": 'import type { Y } from "./y.js";',
        "core/y.ts": 'import type { Z } from "./z.js";',
        "core/z.ts": 'type X = import("./x.js").X;',
      },
      "core/x.ts → core/y.ts → core/z.ts → core/x.ts",
    ],
    ["of one file", { "core/x.ts": 'import type { X } from "./x.js";' }, "core/x.ts → core/x.ts"],
  ];
  test.each(circles)("finds a circle %s", (_, files, circle) => {
    const found = violationsOf(new Map(Object.entries(files)));
    expect(found.map((text) => text.split(" is a circle")[0])).toEqual([circle]);
  });

  test("takes two ways to one file for no circle", () => {
    const imports = (...names: string[]): string => names.map((name) => `import "./${name}.js";`).join("\n");
    const files = { "core/a.ts": imports("b", "c"), "core/b.ts": imports("d"), "core/c.ts": imports("d", "b") };
    expect(violationsOf(new Map(Object.entries({ ...files, "core/d.ts": "" })))).toEqual([]);
  });

  test("finds a room with too many files", () => {
    const room = (name: string, count: number): Sources =>
      new Map(Array.from({ length: count }, (_, index) => [`${name}/x${index}.ts`, ""]));
    expect(violationsOf(room("core/call", 19))).toEqual([
      "core/call/ has 19 files: put those that are read together in a folder of their own",
    ]);
    expect(violationsOf(room("core/call", 18))).toEqual([]);
    expect(violationsOf(room("ops", 40))).toEqual([]);
  });

  test("finds rooms over their budget, without counting what is generated", () => {
    const room = new Map([
      ["path/x.ts", "a\nb\n"],
      ["schema/x.ts", "c\n"],
      [GENERATED, "\n".repeat(100)],
    ]);
    expect(overBudget(room, [["path schema", 3]])).toEqual([]);
    expect(overBudget(room, [["path schema", 2]])).toEqual(["path schema: 3 lines, at most 2"]);
  });

  const right: readonly [string, string][] = [
    ["backend/host/host.ts", 'import fs from "node:fs";\nimport { Jail } from "../jail/jail.js";\n'],
    ["roots/open.ts", 'import { HostBackend } from "../backend/host/host.js";\n'],
    ["cli.ts", 'import { x } from "./venue/start/open-venue.js";\nprocess.on("SIGINT", x);\n'],
    ["core/x.ts", `import { y } from "./y.js";\n// import { z } from "../ops/z.js";\n${"\n".repeat(298)}`],
  ];
  test.each(right)("leaves alone what is right in %s", (file, source) => {
    expect(violationsOf(new Map([[file, source]]))).toEqual([]);
  });
});

describe("the sources of the workspace page", () => {
  const folder = new URL("web/src/", project);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
  const sources = files.map((file) => [file, readFileSync(new URL(file, folder), "utf8")] as const);

  /** All texts stand in one module; style sheets are no modules. */
  const ALLOWED = /^texts\.ts has \d+ lines|^preview\/sandbox\/main\.ts imports a file of ours without \.js/;

  test("import nothing of src but generated types, and no module of Node", () => {
    expect(files.length).toBeGreaterThan(40);
    const wrong = sources.flatMap(([file, source]) =>
      ts
        .preProcessFile(source, true, true)
        .importedFiles.map(({ fileName }) => fileName)
        .filter((name) => name.startsWith("node:") || (/\bsrc\//.test(name) && !name.endsWith("src/schema/types.js")))
        .map((name) => `${file} imports ${name}`),
    );
    expect(wrong).toEqual([]);
    const values = sources.filter(([, source]) => /^import (?!type )[^;]*src\/schema\/types\.js/m.test(source));
    expect(values.map(([file]) => file)).toEqual([]);
  });

  test("keep the style, and have no sink of HTML", () => {
    const sink =
      /dangerouslySetInnerHTML|\.innerHTML\b|\.outerHTML\b|insertAdjacentHTML|document\.write|\beval\(|new Function/;
    const wrong = sources.flatMap(([file, source]) => [
      ...[...textViolations(file, source)].filter((text) => !ALLOWED.test(text)),
      ...(sink.test(source) ? [`${file} has a sink of HTML`] : []),
      ...(/document\.cookie|localStorage/.test(source) ? [`${file} keeps what other tabs or servers would get`] : []),
    ]);
    expect([...wrong, ...crowdedRooms(new Map(sources))]).toEqual([]);
  });

  test("are imported by nothing in src", () => {
    const importing = [...readSources()].filter(([, source]) =>
      /from "[^"]*\bweb\/|import\("[^"]*\bweb\//.test(source),
    );
    expect(importing.map(([file]) => file)).toEqual([]);
  });
});

describe("the tests", () => {
  const folder = new URL("test/", project);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));

  test("lie in rooms that can be read as a whole", () => {
    expect(files.length).toBeGreaterThan(400);
    expect([...crowdedRooms(new Map(files.map((file) => [file, ""])))]).toEqual([]);
  });

  test("have in ops/ one file for each operation, and what these share", () => {
    const ofOperations = new Set([...OPERATIONS, ...STREAM_OPERATIONS].map(({ name }) => `ops/${name}.test.ts`));
    const others = files.filter((file) => posix.dirname(file) === OPERATIONS_ROOM && !ofOperations.has(file));
    // What holds for several operations is tested in ops/common/, their parts in the rooms that src/ops/ has for them.
    expect(others.filter((file) => file.endsWith(".test.ts"))).toEqual([]);
  });
});

describe("each operation", () => {
  const files = readdirSync(new URL("src/ops/", project), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const isOperation = (file: string): boolean =>
    /: Operation</.test(readFileSync(new URL(`src/ops/${file}`, project), "utf8"));

  test("has a file, and each such file is registered", () => {
    const registered = [...OPERATIONS, ...STREAM_OPERATIONS, ...ARCHIVE_OPERATIONS];
    expect(
      files
        .filter(isOperation)
        .map((file) => posix.basename(file))
        .sort(),
    ).toEqual(registered.map(({ name }) => `${name}.ts`).sort());
  });

  test.each(OPERATIONS.map(({ name }) => [name]))("has a schema and a test: %s", (name) => {
    expect(existsSync(new URL(`schemas/file/${name}.json`, project))).toBe(true);
    expect(existsSync(new URL(`test/ops/${name}.test.ts`, project))).toBe(true);
  });
});
