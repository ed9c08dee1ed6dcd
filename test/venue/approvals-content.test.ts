import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { HostBackend } from "../../src/backend/host/host.js";
import { etagOf } from "../../src/core/etag.js";
import { ApprovalGate } from "../../src/dispatch/approvals/approval-gate.js";
import { sha256Of } from "../../src/ops/content/file-etag.js";
import { send as sendHttp } from "../surfaces/http/client.js";
import { approvalsOf, asked } from "./operations/approval/approval-calls.js";
import { type CallOptions, useGround } from "./operations/fixture.js";

const ground = useGround();
const { issue, decide, logIn } = approvalsOf(ground);
const CAPS = ["docs", "t"].map((root) => ({ with: `file://${root}/`, can: "crud" }));
/** Two texts of one length whose hashes begin with the same 40 bits. */
const [GOOD, EVIL] = ["echo 00213937\n", "echo 02913469\n"] as const;
const THEN = new Date("2026-01-02T03:04:05Z");

let agent: CallOptions = {};
let person: CallOptions = {};
const at = (place: string): string => join(ground.base, place);
const textAt = (place: string): string | undefined => {
  if (!existsSync(at(place))) return undefined;
  return readFileSync(at(place), "utf8");
};
function put(place: string, text: string): void {
  mkdirSync(dirname(at(place)), { recursive: true });
  writeFileSync(at(place), text);
  // The caller can set these times.
  utimesSync(at(place), THEN, THEN);
  utimesSync(dirname(at(place)), THEN, THEN);
}

async function open(approve: readonly ("all" | "delete" | "move")[] = ["all"]): Promise<void> {
  mkdirSync(at("t"), { recursive: true });
  await ground.open({ file: { roots: { docs: { path: "docs", approve: { for: approve } }, t: { path: "t" } } } });
  agent = { bearer: (await issue({ label: "agent", caps: CAPS })).token };
  person = { bearer: await logIn() };
}

const call = (operation: string, input: object) => ground.call(operation, input, agent);

/** Asks, is allowed, and repeats the call once `meanwhile` is done. */
async function repeat(operation: string, input: object, meanwhile: () => void) {
  const { approvalId } = asked(await call(operation, input));
  await decide(approvalId, person);
  meanwhile();
  return call(operation, { ...input, approval: approvalId });
}

const CHANGED = { errorCode: "APPROVAL_DENIED", errorData: { reason: "changed" } };

describe("an approval holds for the content of what it is about", () => {
  const INTO = { root: "t", path: "tree", toRoot: "docs", to: "reports/tree", parents: true };
  const WITHIN = { root: "docs", path: "tree", to: "moved" };
  const DELETE = { root: "docs", path: "tree", recursive: true };
  const calls = {
    "copy from another root": ["file:copy", "t", { ...INTO, recursive: true }],
    "move from another root": ["file:move", "t", INTO],
    "move to another root": ["file:move", "docs", { root: "docs", path: "tree", toRoot: "t", to: "out" }],
    "move within the root": ["file:move", "docs", WITHIN],
    "copy within the root": ["file:copy", "docs", { ...WITHIN, recursive: true }],
    delete: ["file:delete", "docs", DELETE],
  } as const;
  const changes: Record<string, (tree: string) => void> = {
    "the same many other bytes": (tree) => put(`${tree}/run.sh`, "echo evil\n"),
    "the same many other bytes in a folder below": (tree) => put(`${tree}/lib/deep/a`, "B"),
    "another name": (tree) => {
      renameSync(at(`${tree}/run.sh`), at(`${tree}/ran.sh`));
      utimesSync(at(tree), THEN, THEN);
    },
    "two names swapped": (tree) => {
      renameSync(at(`${tree}/one`), at(`${tree}/x`));
      renameSync(at(`${tree}/two`), at(`${tree}/one`));
      renameSync(at(`${tree}/x`), at(`${tree}/two`));
      utimesSync(at(tree), THEN, THEN);
    },
    "another mode": (tree) => chmodSync(at(`${tree}/run.sh`), 0o755),
    "a folder in place of an empty file": (tree) => {
      rmSync(at(`${tree}/empty`));
      mkdirSync(at(`${tree}/empty`));
      utimesSync(at(`${tree}/empty`), THEN, THEN);
      utimesSync(at(tree), THEN, THEN);
    },
  };
  // Every call looks at its tree in the same way: each change is shown by one, and each call by one.
  const cases = [
    ...Object.keys(changes).map((what) => ["move within the root", what] as const),
    ...Object.keys(calls).map((one) => [one, "the same many other bytes in a folder below"] as const),
  ].filter((one, at, all) => all.findIndex((other) => `${other}` === `${one}`) === at);

  beforeEach(async () => {
    for (const tree of ["docs/tree", "t/tree"]) {
      put(`${tree}/run.sh`, "echo good\n");
      put(`${tree}/lib/deep/a`, "A");
      for (const name of ["one", "two"]) put(`${tree}/${name}`, name);
      put(`${tree}/empty`, "");
      chmodSync(at(`${tree}/run.sh`), 0o644);
    }
    await open();
  });

  test.each(cases)("%s: not for %s", async (one, what) => {
    const [operation, root, input] = calls[one as keyof typeof calls];
    const answer = await repeat(operation, input, () => changes[what]?.(`${root}/tree`));
    expect(answer).toMatchObject(CHANGED);
    expect([existsSync(at(`${root}/tree`)), existsSync(at("docs/reports/tree")), existsSync(at("docs/moved"))]).toEqual(
      [true, false, false],
    );
  });

  test.each(Object.keys(calls))("%s: it is done where nothing has changed but the times", async (one) => {
    const [operation, root, input] = calls[one as keyof typeof calls];
    const touch = (): void => utimesSync(at(`${root}/tree/run.sh`), new Date(), new Date());
    expect((await repeat(operation, input, touch)).error).toBeUndefined();
  });

  test.each(["file:copy", "file:move"])("%s of a file with the same etag", async (operation) => {
    put("t/one.sh", GOOD);
    expect(etagOf(sha256Of(Buffer.from(GOOD)))).toBe(etagOf(sha256Of(Buffer.from(EVIL))));
    const input = { root: "t", path: "one.sh", toRoot: "docs", to: "one.sh" };
    expect(await repeat(operation, input, () => put("t/one.sh", EVIL))).toMatchObject(CHANGED);
    expect(textAt("docs/one.sh")).toBeUndefined();
  });

  test("a link that leads elsewhere", async () => {
    symlinkSync("run.sh", at("docs/tree/link"));
    const turn = (): void => {
      rmSync(at("docs/tree/link"));
      symlinkSync("one", at("docs/tree/link"));
      utimesSync(at("docs/tree"), THEN, THEN);
    };
    for (const [operation, input] of [
      ["file:move", WITHIN],
      ["file:delete", DELETE],
    ] as const) {
      expect(await repeat(operation, input, turn)).toMatchObject(CHANGED);
    }
  });

  test("a folder with a name that no path reaches, and one that cannot be read", async () => {
    mkdirSync(Buffer.concat([Buffer.from(`${at("docs/tree")}/`), Buffer.from([0xff])]));
    put("docs/tree/secret", "s");
    chmodSync(at("docs/tree/secret"), 0);
    expect((await repeat("file:move", WITHIN, () => {})).error).toBeUndefined();
  });
});

describe("a large tree", () => {
  const MOVE = { root: "docs", path: "tree", to: "moved" };

  beforeEach(async () => {
    // More than is hashed, without taking room.
    for (const name of ["large", "also"]) {
      put(`docs/tree/${name}`, "");
      truncateSync(at(`docs/tree/${name}`), 268_435_457);
    }
    put("docs/tree/small", "good");
    await open();
  });

  test.each([
    ["a small file beside the large ones", "small"],
    ["a file that is not hashed, with its times set back", "large"],
  ])("is not moved with another content of %s", async (_title, name) => {
    const answer = await repeat("file:move", MOVE, () => {
      const place = at(`docs/tree/${name}`);
      const bytes = openSync(place, "r+");
      writeSync(bytes, "evil", 0);
      closeSync(bytes);
      utimesSync(place, THEN, THEN);
    });
    expect(answer).toMatchObject(CHANGED);
    expect(existsSync(at("docs/tree/small"))).toBe(true);
  });

  test("is moved where nothing has changed, though it was written right before", async () => {
    expect((await repeat("file:move", MOVE, () => {})).error).toBeUndefined();
    expect(existsSync(at("docs/moved/large"))).toBe(true);
  });
});

describe("what a person sees", () => {
  const COPY = { root: "t", path: "tree", toRoot: "docs", to: "tree", recursive: true };
  const shown = async (id: string) => (await ground.call("approval:get", { id }, person)).output;

  test("are the first names, and the text of small files", async () => {
    put("t/tree/run.sh", "echo good\n");
    put("t/tree/lib/a", "A\n");
    writeFileSync(at("t/tree/blob"), Buffer.from([0xff, 0xfe]));
    await open();
    const { approvalId, effect, diff } = asked(await call("file:copy", COPY));
    expect(effect).toEqual([
      {
        ...{ path: "tree", action: "create" },
        after: { type: "directory", entries: 4, size: 14, names: ["blob", "lib/", "lib/a", "run.sh"] },
      },
    ]);
    expect(diff).toContain("+++ tree/run.sh\n@@ -0,0 +1,1 @@\n+echo good\n");
    expect(diff).toContain("+++ tree/lib/a\n");
    expect(diff).not.toContain("blob");
    expect(await shown(approvalId)).toMatchObject({ effect: [{ root: "docs", ...effect[0] }], diff });
  });

  test("are twenty names of many, and no more text than fits", async () => {
    for (let index = 10; index < 45; index += 1) put(`t/tree/${index}`, "x".repeat(5000));
    await open();
    const { effect, diff = "" } = asked(await call("file:copy", COPY));
    const names = Array.from({ length: 20 }, (_, index) => `${index + 10}`);
    expect(effect).toMatchObject([{ after: { entries: 35, size: 175_000, names } }]);
    expect(diff.length).toBeLessThan(65_000);
    expect(diff).toMatch(/it is cut here\n$/);
  });

  test.each(["file:copy", "file:move"])("is the difference of a file that %s replaces", async (operation) => {
    for (const root of ["t", "docs"]) put(`${root}/a`, `one\n${root}\n`);
    await open();
    for (const from of ["t", "docs"]) {
      put("docs/b", "one\nold\n");
      const input = { root: from, path: "a", toRoot: "docs", to: "b", overwrite: true };
      const { effect, diff } = asked(await call(operation, input));
      expect(diff).toBe(`--- b\n+++ b\n@@ -1,2 +1,2 @@\n one\n-old\n+${from}\n`);
      const sha256 = sha256Of(readFileSync(at(`${from}/a`)));
      expect(effect.at(-1)).toMatchObject({
        action: "overwrite",
        after: { type: "file", sha256, size: 5 + from.length },
      });
    }
  });

  test("are the names in what is deleted or moved away", async () => {
    put("docs/tree/lib/a", "A");
    await open();
    const before = { type: "directory", entries: 2, size: 1, names: ["lib/", "lib/a"] };
    for (const [operation, more] of [
      ["file:delete", { recursive: true }],
      ["file:move", { to: "other" }],
      ["file:move", { toRoot: "t", to: "other" }],
    ] as const) {
      expect(asked(await call(operation, { root: "docs", path: "tree", ...more })).effect).toMatchObject([{ before }]);
    }
  });

  test("is told to nobody who may not read there", async () => {
    put("docs/tree/secret-name", "A");
    await open();
    const caps = [{ with: "file://docs/", can: "crud/delete" }];
    const blind = { bearer: (await issue({ label: "blind", caps })).token };
    const answer = await ground.call("file:delete", { root: "docs", path: "tree", recursive: true }, blind);
    const { approvalId } = asked(answer);
    expect(JSON.stringify(answer.errorData)).not.toContain("secret-name");
    const got = await ground.call("approval:get", { id: approvalId }, blind);
    expect(JSON.stringify(got.output)).not.toContain("secret-name");
    expect(await shown(approvalId)).toMatchObject({ effect: [{ before: { names: ["secret-name"] } }] });
  });
});

describe("two contents of one etag", () => {
  const path = "f.sh";
  const ETAG = etagOf(sha256Of(Buffer.from(GOOD)));
  const send = (method: string, body: string, headers: Record<string, string> = {}) =>
    sendHttp(`${ground.venue.url}/api/v1/files/docs/${path}`, { token: agent.bearer, method, body, headers });

  beforeEach(async () => {
    await open();
  });

  test.each([
    ["PUT", {}],
    ["PATCH", { "upload-offset": "0" }],
  ])("are two bodies of %s", async (method, more: Record<string, string>) => {
    const first = await send(method, GOOD, more);
    expect(first.status).toBe(403);
    const { approvals } = (await ground.call("approval:list", {}, person)).output as { approvals: { id: string }[] };
    const id = approvals[0]?.id ?? "";
    await decide(id, person);
    const allowed = { ...more, "venue-approval": id };
    expect((await send(method, EVIL, allowed)).status).toBe(403);
    expect(textAt(`docs/${path}`)).toBeUndefined();
    expect((await send(method, GOOD, allowed)).ok).toBe(true);
    expect(textAt(`docs/${path}`)).toBe(GOOD);
  });

  const PATCH = `*** Begin Patch\n*** Update File: ${path}\n*** Move to: g.sh\n*** End Patch\n`;
  test.each<[string, object]>([
    ["file:write", { path, content: "new" }],
    ["file:write", { path, content: "new", ifMatch: ETAG }],
    ["file:append", { path, content: "new" }],
    ["file:delete", { path }],
    ["file:delete", { path, ifMatch: ETAG }],
    ["file:move", { path, to: "g.sh" }],
    ["file:move", { path, to: "g.sh", ifMatch: ETAG }],
    ["file:copy", { path: "other", to: path, overwrite: true, ifMatchTo: ETAG }],
    ["file:patch", { patch: PATCH }],
    ["file:patch", { patch: PATCH, ifMatch: { [path]: ETAG } }],
  ])("are two targets of %s %j", async (operation, input) => {
    put(`docs/${path}`, GOOD);
    put("docs/other", "other");
    const answer = await repeat(operation, { root: "docs", ...input }, () => put(`docs/${path}`, EVIL));
    expect(answer).toMatchObject(CHANGED);
    expect(textAt(`docs/${path}`)).toBe(EVIL);
  });
});

describe("a writer that swaps a file while the gate looks at it", () => {
  const path = "f.sh";
  const { open: openFile } = HostBackend.prototype;

  beforeEach(async () => {
    await open();
    put(`docs/${path}`, GOOD);
    put("docs/other", "other");
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  test.each<[string, object]>([
    ["file:write", { path, content: "new" }],
    ["file:append", { path, content: "new" }],
    ["file:delete", { path }],
    ["file:move", { path: "other", to: path, overwrite: true }],
    ["file:copy", { path: "other", to: path, overwrite: true }],
    ["file:patch", { patch: `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch\n` }],
  ])("is not replaced, removed or changed unseen by %s", async (operation, input) => {
    const answer = await repeat(operation, { root: "docs", ...input }, () => {
      jest.spyOn(HostBackend.prototype, "open").mockImplementation(async function (this: HostBackend, target, access) {
        const file = await openFile.call(this, target, access);
        if (target.text === path && textAt(`docs/${path}`) === GOOD) {
          put("docs/swap", EVIL);
          renameSync(at("docs/swap"), at(`docs/${path}`));
        }
        return file;
      });
    });
    expect(answer).toMatchObject(CHANGED);
    expect([textAt(`docs/${path}`), textAt("docs/other")]).toEqual([EVIL, "other"]);
  });
});

describe("a writer that swaps a file which somebody has allowed to go", () => {
  const path = "f.sh";
  const { open: openFile } = HostBackend.prototype;
  const { pass } = ApprovalGate.prototype;
  const swaps: Record<string, () => void> = {
    "another file": () => {
      put("docs/swap", EVIL);
      renameSync(at("docs/swap"), at(`docs/${path}`));
    },
    "another content, with its time set back": () => put(`docs/${path}`, EVIL),
  };
  const patch = (...lines: string[]) => ({ patch: ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n") });
  // The first file is moved, then changed: what follows is made when that is done.
  const FIRST = ["*** Update File: other", "*** Move to: moved", "@@", "-other", "+another"];
  const UPDATE = [`*** Update File: ${path}`, "@@", "-echo 00213937", "+echo"];
  const MOVE = [`*** Update File: ${path}`, "*** Move to: g.sh"];
  const ends = { deleted: [`*** Delete File: ${path}`], moved: MOVE, replaced: UPDATE };
  const later = Object.entries(ends).map(
    ([how, last]) => [`${how} by a later step`, patch(...FIRST, ...last)] as const,
  );
  const calls: readonly (readonly [string, object])[] = [
    ...later,
    ["moved by a group", patch(...MOVE, "*** Delete File: other")],
    ["file:write", { path, content: "new" }],
    ["file:append", { path, content: "new" }],
    ["file:delete", { path }],
    ["file:move", { path, to: "g.sh" }],
    ["file:move", { path: "other", to: path, overwrite: true }],
    ["file:copy", { path: "other", to: path, overwrite: true }],
  ];
  const cases = calls.flatMap(([what, input]) => Object.keys(swaps).map((swap) => [what, swap, input] as const));
  const operationOf = (what: string): string => (what.startsWith("file:") ? what : "file:patch");

  beforeEach(async () => {
    await open();
    put(`docs/${path}`, GOOD);
    put("docs/other", "other\n");
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  const state = () => [textAt(`docs/${path}`), textAt("docs/other"), ...readdirSync(at("docs")).sort()];
  const UNDONE = [EVIL, "other\n", ".venue-files", path, "other", "sub"];

  test.each(cases)("finds that it is not %s: %s", async (what, swap, input) => {
    const answer = await repeat(operationOf(what), { root: "docs", ...input }, () => {
      jest.spyOn(ApprovalGate.prototype, "pass").mockImplementation(function (this: ApprovalGate, ...given) {
        const isAllowed = pass.apply(this, given);
        swaps[swap]?.();
        return isAllowed;
      });
    });
    // An update of a patch is bound to the content that it was planned for, whoever has allowed it.
    expect(answer).toMatchObject(what.startsWith("replaced") ? { errorCode: "CONFLICT" } : CHANGED);
    expect(state()).toEqual(UNDONE);
  });

  test.each(later)("while the gate looks finds that it is not %s", async (_what, input) => {
    const answer = await repeat("file:patch", { root: "docs", ...input }, () => {
      jest.spyOn(HostBackend.prototype, "open").mockImplementation(async function (this: HostBackend, target, access) {
        const file = await openFile.call(this, target, access);
        if (access.verb === "patch" && target.text === path) swaps["another file"]?.();
        return file;
      });
    });
    expect(answer).toMatchObject({ errorCode: expect.stringMatching(/^(?:APPROVAL_DENIED|CONFLICT)$/) });
    expect(state()).toEqual(UNDONE);
  });

  test.each(later)("is not the group itself: it is %s", async (_what, input) => {
    const answer = await repeat("file:patch", { root: "docs", ...input }, () => {});
    expect(answer.error).toBeUndefined();
    expect(textAt(`docs/${path}`)).not.toBe(GOOD);
  });
});

describe("a drive that asks", () => {
  const call = (operation: string, input: object) => ground.call(operation, input, agent);
  const write = async (root: string, path: string, content: string) => {
    const by = { as: ground.alice };
    expect((await ground.call("file:write", { root, path, content, parents: true }, by)).error).toBeUndefined();
  };

  beforeEach(async () => {
    const roots = { a: { dlfs: "a", approve: { for: ["all" as const] } }, b: { dlfs: "b" } };
    await ground.open({ file: { roots }, drives: { store: { path: "drives" } } });
    for (const drive of ["a", "b"]) {
      expect((await ground.call("dlfs:create-drive", { drive }, { as: ground.alice })).error).toBeUndefined();
      await write(drive, "tree/run.sh", "echo good");
      await write(drive, "tree/lib/large", "x".repeat(100_000));
    }
    const caps = ["a", "b"].map((root) => ({ with: `file://${root}/`, can: "crud" }));
    agent = { bearer: (await issue({ label: "agent", caps }, { as: ground.alice })).token };
    person = { bearer: (await issue({ label: "page" }, { as: ground.alice })).token };
  });

  test.each<[string, string, object]>([
    ["file:move", "a", { to: "moved" }],
    ["file:copy", "a", { to: "moved", recursive: true }],
    ["file:delete", "a", { recursive: true }],
    ["file:copy", "b", { toRoot: "a", to: "moved", recursive: true }],
    ["file:move", "b", { toRoot: "a", to: "moved" }],
  ])("%s of a tree in %s is bound to what is in it %j", async (operation, root, more) => {
    const input = { root, path: "tree", ...more };
    for (const [path, evil, good] of [
      ["run.sh", "echo evil", "echo good"],
      ["lib/large", `y${"x".repeat(99_999)}`, "x".repeat(100_000)],
    ] as const) {
      const { approvalId } = asked(await call(operation, input));
      await decide(approvalId, person);
      await write(root, `tree/${path}`, evil);
      expect(await call(operation, { ...input, approval: approvalId })).toMatchObject(CHANGED);
      await write(root, `tree/${path}`, good);
      expect((await call("file:stat", { root: "a", path: "moved" })).output).toMatchObject({ exists: false });
    }
    const { approvalId } = asked(await call(operation, input));
    await decide(approvalId, person);
    expect((await call(operation, { ...input, approval: approvalId })).error).toBeUndefined();
  });
});
