import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { systemClock } from "../../../src/core/clock.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { etagOf } from "../../../src/core/etag.js";
import type { Backend } from "../../../src/core/ports/backend.js";
import { createMemoryBackend } from "../../backend/memory/memory.js";
import { dispatchOn } from "../../dispatch/fake.js";
import { useDrives } from "../../drives/ground.js";
import { startChild } from "../../jail/start-child.js";
import { failureOf, useGround } from "../ground.js";
import { sha256Of } from "./edit-fixture.js";

const WORKERS = 4;
const EDITS = 15;

type Invoke = (operation: string, input: object) => Promise<unknown>;

const counters = (count: number): string =>
  Array.from({ length: WORKERS }, (_, worker) => `worker ${worker}: ${count};\n`).join("");

/** Each counts up a line of its own, in a file they share, and tries again where another was faster. @returns the tries */
async function countUp(worker: number, edit: (input: object) => Promise<string>): Promise<number> {
  let tries = 0;
  for (let count = 0; count < EDITS; ) {
    tries++;
    const code = await edit({
      oldText: `worker ${worker}: ${count};`,
      newText: `worker ${worker}: ${count + 1};`,
    });
    if (code === "ok") count++;
    else expect(code).toBe("CONFLICT");
  }
  return tries;
}

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: unknown) => {
      if (error instanceof FileAdapterError) return error.code;
      throw error;
    },
  );

async function race(invoke: Invoke, place: object): Promise<unknown> {
  await invoke("write", { ...place, content: counters(0) });
  const edit = (input: object) => codeOf(invoke("edit", { ...place, ...input }));
  await Promise.all(Array.from({ length: WORKERS }, (_, worker) => countUp(worker, edit)));
  return invoke("read", place);
}

describe("edits of one file at the same time lose nothing", () => {
  const ground = useGround();
  const drives = useDrives();

  test("in a host root", async () => {
    const invoke: Invoke = (operation, input) => ground.adapter.invoke(`file:${operation}`, input);
    expect(await race(invoke, { root: "r", path: "a" })).toMatchObject({ content: counters(EDITS) });
    // The file that was replaced last stays for a while.
    for (const until = Date.now() + 10_000; ground.staged().length > 0 && Date.now() < until; ) await sleep(50);
    expect(ground.staged()).toEqual([]);
  });

  test("in a temp root and in a drive", async () => {
    const invoke: Invoke = (operation, input) => drives.call(`file:${operation}`, input);
    for (const root of ["tmp", "mine"]) {
      expect(await race(invoke, { root, path: "a" })).toMatchObject({ content: counters(EDITS) });
    }
  });

  test("in memory", async () => {
    const { call } = dispatchOn();
    expect(await race(call, {})).toMatchObject({ content: counters(EDITS) });
  });

  test("in two processes", async () => {
    const root = mkdtempSync(join(tmpdir(), "venue-edits-"));
    const config = { roots: { r: { path: root, durability: "none" as const } } };
    writeFileSync(join(root, "a"), counters(0));
    const children = [await startChild({ config }), await startChild({ config })];
    try {
      const tries = await Promise.all(
        Array.from({ length: WORKERS }, (_, worker) =>
          countUp(worker, async (input) => {
            const answer = await children[worker % 2]?.invoke("edit", { root: "r", path: "a", ...input });
            return answer?.code ?? "";
          }),
        ),
      );
      expect(readFileSync(join(root, "a"), "utf8")).toBe(counters(EDITS));
      expect(tries.every((one) => one >= EDITS)).toBe(true);
    } finally {
      for (const child of children) await child.kill();
    }
    expect(readdirSync(root).filter((name) => name !== ".venue-files")).toEqual(["a"]);
    rmSync(root, { recursive: true });
  });
});

describe("an edit whose file changes before its commit", () => {
  const ORIGINAL = "one\n";
  const input = { oldText: "one", newText: "two" };
  const etag = (content: string): string => etagOf(sha256Of(content));

  /** A root in which somebody else writes, or deletes, between an edit's read and its write. */
  function disturbed(meanwhile: string | undefined) {
    const memory = createMemoryBackend({ rootName: "r", clock: systemClock });
    let isDisturbed = false;
    const parts = dispatchOn({
      backend: {
        read: (...args: Parameters<Backend["read"]>) => memory.read(...args),
        async write(path, body, options, access) {
          if (isDisturbed && meanwhile === undefined) await memory.remove(path, { recursive: false }, access);
          else if (isDisturbed) {
            const load = () => Buffer.from(String(meanwhile));
            await memory.write(path, { load }, { parents: false }, access);
          }
          return memory.write(path, body, options, access);
        },
      },
    });
    const disturb = () => {
      isDisturbed = true;
    };
    return { ...parts, disturb };
  }

  test.each([
    ["something else", "other\n", `now ${etag("other\n")}`, etag("other\n")],
    ["something that would match", "one\none more\n", `now ${etag("one\none more\n")}`, etag("one\none more\n")],
    ["nothing", undefined, "now missing", null],
  ])("to %s is CONFLICT, and leaves that", async (_, meanwhile, text, current) => {
    const { call, disturb } = disturbed(meanwhile);
    await call("write", { content: ORIGINAL });
    disturb();
    expect(await failureOf(call("edit", input))).toEqual({
      code: "CONFLICT",
      message: `Cannot edit "file": it changed since you read it (expected ${etag(ORIGINAL)}, ${text}). Read it again`,
      data: { root: "r", path: "file", expected: etag(ORIGINAL), current },
    });
    if (meanwhile === undefined) expect((await failureOf(call("read"))).code).toBe("NOT_FOUND");
    else expect(await call("read")).toMatchObject({ content: meanwhile });
  });

  test("names the version that the caller gave", async () => {
    const { call, disturb } = disturbed("other\n");
    await call("write", { content: ORIGINAL });
    disturb();
    const ifMatch = `sha256:${sha256Of(ORIGINAL)}`;
    expect((await failureOf(call("edit", { ...input, ifMatch }))).data["expected"]).toBe(ifMatch);
  });

  test("tells no version to a caller that may not read", async () => {
    const { call, disturb } = disturbed("other\n");
    await call("write", { content: ORIGINAL });
    disturb();
    const caps = [{ with: "file://r/", can: "crud/write" }];
    expect(await failureOf(call("edit", input, { caps }))).toEqual({
      code: "CONFLICT",
      message: 'Cannot edit "file": it changed since you read it (expected unchanged). Read it again',
      data: { root: "r", path: "file", expected: "unchanged" },
    });
  });
});
