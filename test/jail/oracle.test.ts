import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../src/core/adapter.js";
import { type Arena, makeArena } from "./arena.js";
import { ATTEMPT_NAMES, type AttemptName } from "./attempts.js";
import { ENGINES, type Engine, type Files, openFiles, outcomeOf } from "./files.js";

/** Everything a caller may do below `mine`, and nothing elsewhere. */
const ONLY_MINE: SurfaceContext = { caps: [{ with: "file://r/mine", can: "crud" }] };

/** What may stand outside, or in a subtree of somebody else, under one name. */
const STATES: Readonly<Record<string, (path: string, arena: Arena) => void>> = {
  nothing: () => {},
  "a file": (path) => writeFileSync(path, "x"),
  "an empty directory": (path) => mkdirSync(path),
  "a full directory": (path) => {
    mkdirSync(path);
    writeFileSync(join(path, "below"), "x");
  },
  "a link to nothing": (path) => symlinkSync("nowhere", path),
  "a link to itself": (path) => symlinkSync(path, path),
  "a link to a file beside it": (path) => {
    writeFileSync(`${path}-beside`, "x");
    symlinkSync(`${path}-beside`, path);
  },
  "a link far outside": (path, { outside }) => symlinkSync(join(outside, "canary.txt"), path),
  "a link to the staging directory": (path, { root }) => symlinkSync(join(root, ".venue-files"), path),
};

const INPUT: Readonly<Record<AttemptName, readonly [string, Record<string, unknown>]>> = {
  list: ["list", {}],
  tree: ["tree", {}],
  read: ["read", {}],
  stat: ["stat", {}],
  write: ["write", { content: "x" }],
  "write, parents": ["write", { content: "x", parents: true }],
  append: ["append", { content: "x" }],
  "append, parents": ["append", { content: "x", parents: true }],
  mkdir: ["mkdir", {}],
  "mkdir, parents": ["mkdir", { parents: true }],
  delete: ["delete", {}],
  "delete, recursive": ["delete", { recursive: true }],
};

const call = (files: Files, name: AttemptName, path: string, context?: SurfaceContext) => {
  const [operation, input] = INPUT[name];
  return outcomeOf(files.invoke(operation, { path, ...input }, context));
};

describe.each(ENGINES)("by %s", (engine) => {
  const ground = onGround(engine);

  test.each(ATTEMPT_NAMES)("%s through a link to the outside answers the same whatever is there", async (name) => {
    for (const path of ["mine/link", "mine/link/below", "mine/link/below/deep"]) {
      // Of the link itself, delete says that it has removed it; which is the same each time too.
      const answers = await answersFor(ground(), {
        plant: ({ outside, link }, state) => {
          state(join(outside, "thing"));
          link("mine/link", "../../outside/thing");
        },
        ask: (files) => call(files, name, path),
      });
      expect(new Set(Object.values(answers)).size).toBe(1);
      if (path !== "mine/link" || !name.startsWith("delete")) expect(answers["nothing"]).toContain("SYMLINK_ESCAPE");
    }
  });

  test.each(ATTEMPT_NAMES)(
    "%s through a link into a subtree of others answers the same whatever is there",
    async (name) => {
      const paths = ["mine/link", "mine/link/below", "mine/link/below/deep"];
      for (const path of name.startsWith("delete") ? paths.slice(1) : paths) {
        const answers = await answersFor(ground(), {
          plant: ({ root, link, directory }, state) => {
            directory("theirs");
            state(join(root, "theirs/thing"));
            link("mine/link", "../theirs/thing");
          },
          ask: (files) => call(files, name, path, ONLY_MINE),
        });
        expect(new Set(Object.values(answers)).size).toBe(1);
        expect(answers["nothing"]).toContain('"denied_by":["path_policy"]');
        expect(answers["nothing"]).not.toContain("theirs");
      }
    },
  );

  test.each(ATTEMPT_NAMES)(
    "%s through a link below a thing of others answers the same whatever that is",
    async (name) => {
      const answers = await answersFor(ground(), {
        plant: ({ root, link, directory }, state) => {
          directory("theirs");
          state(join(root, "theirs/thing"));
          link("mine/link", "../theirs/thing/below");
        },
        ask: (files) => call(files, name, "mine/link/more", ONLY_MINE),
      });
      expect(new Set(Object.values(answers)).size).toBe(1);
      expect(answers["nothing"]).toContain("CAPABILITY_DENIED");
    },
  );

  test("a link that dangles in a subtree of others and climbs back is denied", async () => {
    const { arena, files } = ground();
    arena.reset();
    arena.directory("theirs");
    arena.link("mine/link", "../theirs/nothing/../../mine");
    const { code } = await outcomeOf(files.invoke("list", { path: "mine/link" }, ONLY_MINE));
    expect(code).toBe("CAPABILITY_DENIED");
  });

  test("control: with rights everywhere the answers differ", async () => {
    const answers = await answersFor(ground(), {
      plant: ({ root, link, directory }, state) => {
        directory("theirs");
        state(join(root, "theirs/thing"));
        link("mine/link", "../theirs/thing");
      },
      ask: (files) => call(files, "stat", "mine/link"),
    });
    expect(new Set(Object.values(answers)).size).toBeGreaterThan(5);
  });
});

describe("a caller without rights", () => {
  const ground = onGround("handle walk");

  test.each(ATTEMPT_NAMES)("is answered the same whatever %s would find", async (name) => {
    const answers = await answersFor(ground(), {
      plant: ({ root }, state) => state(join(root, "thing")),
      ask: (files) => call(files, name, "thing", ONLY_MINE),
    });
    expect(new Set(Object.values(answers)).size).toBe(1);
    expect(answers["nothing"]).toContain("CAPABILITY_DENIED");
  });
});

interface Question {
  readonly plant: (arena: Arena, state: (path: string) => void) => void;
  readonly ask: (files: Files) => Promise<unknown>;
}

/** What a caller is told, for each thing that may be there. Times are left out: they are the link's own. */
async function answersFor({ arena, files }: Ground, { plant, ask }: Question): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const [state, make] of Object.entries(STATES)) {
    arena.reset();
    mkdirSync(join(arena.root, "mine"));
    plant(arena, (path) => make(path, arena));
    answers[state] = JSON.stringify(await ask(files)).replace(/"modified":\d+/, "");
  }
  return answers;
}

/** An arena and an adapter on it, for all tests of a group. */
interface Ground {
  readonly arena: Arena;
  readonly files: Files;
}

function onGround(engine: Engine): () => Ground {
  let ground: Ground | undefined;
  beforeAll(async () => {
    const arena = makeArena();
    ground = { arena, files: await openFiles(arena.root, engine) };
  });
  afterAll(async () => {
    await ground?.files.close();
    ground?.arena.remove();
  });
  return () => ground as Ground;
}
