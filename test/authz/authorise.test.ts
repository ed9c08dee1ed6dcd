import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { Authoriser } from "../../src/authz/authorise.js";
import { readCaps } from "../../src/authz/caps-list.js";
import { capabilityDenied, type Denial } from "../../src/authz/denial.js";
import { type Grant, parseGrant, printResource } from "../../src/authz/grant.js";
import type { Ability, Capability } from "../../src/core/call/capability.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { type Failure, useGround } from "../ops/ground.js";
import { bob, delegation, venue } from "../ucan/tokens.js";
import { authorityOf, holding } from "./fixture.js";

const READ: Capability = { with: "file://docs/", can: "crud/read" };
const grants = (...list: Capability[]): Grant[] =>
  list.map((one) => parseGrant(one)).filter((grant) => grant !== undefined);

/** @param options without `authority` the caller is the operator */
function authoriser(options: { caps?: readonly unknown[]; authority?: readonly Grant[] }): Authoriser {
  const { caps = [], authority: grants } = options;
  const authority = grants === undefined ? authorityOf() : holding(grants);
  return new Authoriser({ operation: "file:read", caps: caps.map((list) => readCaps(list)), authority });
}

function denialOf(work: () => void): Readonly<Record<string, unknown>> | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof FileAdapterError && error.code === "CAPABILITY_DENIED") return error.data;
    throw error;
  }
}

const allows = (who: Authoriser, path: string, ability: Ability = "crud/read"): boolean =>
  denialOf(() => who.require(path.split("/"), ability)) === undefined;

describe("a caps list", () => {
  test.each([[undefined], [null]])("that is %p narrows nothing", (caps) => {
    expect(readCaps(caps)).toBeUndefined();
    expect(allows(authoriser({ caps: [caps] }), "docs/a", "crud/delete")).toBe(true);
  });

  const lists: readonly [string, unknown, readonly string[]][] = [
    ["is empty", [], ["not_covered"]],
    ["is a text", "file://", ["malformed"]],
    ["is one grant", READ, ["malformed"]],
    ["looks like a list", { 0: READ, length: 1 }, ["malformed"]],
    ["is true", true, ["malformed"]],
    ["is zero", 0, ["malformed"]],
    ["has only malformed entries", [null, "file://", { with: "file://*", can: "*" }], ["not_covered"]],
    ["has 257 entries", Array.from({ length: 257 }, () => READ), ["too_large"]],
    ["has 257 entries, most of them malformed", [READ, ...Array.from({ length: 256 }, () => 0)], ["too_large"]],
  ];
  test.each(lists)("that %s allows nothing", (_, caps, reasons) => {
    const data = denialOf(() => authoriser({ caps: [caps] }).require(["docs", "a"], "crud/read"));
    expect(data).toMatchObject({ denied_by: ["agent_caps"], have: [], have_truncated: false, reasons });
  });

  test("of 256 entries counts", () => {
    const caps = [...Array.from({ length: 255 }, (_, index) => ({ with: `file://r${index}`, can: "crud" })), READ];
    expect(allows(authoriser({ caps: [caps] }), "docs/a")).toBe(true);
  });

  test("counts what is well-formed in it, and nothing else", () => {
    const caps = [null, READ, { with: "file://other", can: "crud", nb: {} }, { with: "my:x", can: "*" }];
    const who = authoriser({ caps: [caps] });
    expect(allows(who, "docs/a")).toBe(true);
    expect(allows(who, "other/a")).toBe(false);
  });

  test("is narrowed by a second one: both must cover a request", () => {
    const host = [{ with: "file://docs", can: "crud" }];
    const call = [
      { with: "file://", can: "crud/read" },
      { with: "file://docs/in", can: "crud/write" },
    ];
    const who = authoriser({ caps: [host, call] });
    expect(allows(who, "docs/a")).toBe(true);
    expect(allows(who, "docs/in/a", "crud/write")).toBe(true);
    expect(allows(who, "docs/a", "crud/write")).toBe(false);
    expect(allows(who, "other/a")).toBe(false);
    expect(allows(authoriser({ caps: [host, []] }), "docs/a")).toBe(false);
    expect(allows(authoriser({ caps: [undefined, call] }), "other/a")).toBe(true);
  });

  test("names each fault of two lists once", () => {
    const data = denialOf(() => authoriser({ caps: ["x", 1] }).require(["docs"], "crud/read"));
    expect(data?.["reasons"]).toEqual(["malformed"]);
  });
});

describe("authority", () => {
  const docs = grants(READ);

  test("is needed beside what the lists allow", () => {
    const caps = [{ with: "file://", can: "crud" }];
    expect(allows(authoriser({ caps: [caps], authority: docs }), "docs/a")).toBe(true);
    const data = denialOf(() => authoriser({ caps: [caps], authority: docs }).require(["other"], "crud/read"));
    expect(data).toMatchObject({ denied_by: ["authority"], have: [{ with: "file://docs/", can: "crud/read" }] });
  });

  test("that is missing is named together with the list that forbids too", () => {
    const data = denialOf(() => authoriser({ caps: [[]], authority: docs }).require(["other"], "crud/read"));
    expect(data).toMatchObject({ denied_by: ["agent_caps", "authority"], have: [] });
  });

  test("of nobody allows nothing", () => {
    const data = denialOf(() => authoriser({ authority: [] }).require(["docs"], "crud/read"));
    expect(data).toMatchObject({ denied_by: ["authority"], have: [], reasons: ["not_covered"] });
  });

  test("of several grants does not add up to what none of them covers", () => {
    const authority = grants({ with: "file://docs/a", can: "crud/read" }, { with: "file://docs", can: "crud/write" });
    expect(allows(authoriser({ authority }), "docs/b", "crud/read")).toBe(false);
  });
});

describe("the real place of a request", () => {
  const who = authoriser({ caps: [[{ with: "file://docs/a", can: "crud/read" }]] });
  const real = (requested: string[], at: string[]) =>
    denialOf(() => who.requireReal("docs", { requested, real: at }, "crud/read"));

  test("is not looked at again where it is the requested one", () => {
    expect(real(["b"], ["b"])).toBeUndefined();
  });

  test("must be granted too, in the same root", () => {
    expect(real(["a", "link"], ["a", "target"])).toBeUndefined();
    expect(real(["a", "link"], ["ab"])).toBeDefined();
    expect(real(["a", "link"], [])).toBeDefined();
  });

  test("stays secret: the denial names the requested one", () => {
    const data = real(["a", "link"], ["secret", "place"]);
    expect(data).toMatchObject({
      required: { with: "file://docs/a/link", can: "crud/read" },
      denied_by: ["path_policy"],
      reasons: ["not_covered"],
    });
    expect(JSON.stringify(data)).not.toContain("secret");
  });
});

describe("what is held", () => {
  const many = Array.from({ length: 30 }, (_, index) => ({ with: `file://r${index}/`, can: "crud/read" }));
  const held = (options: Parameters<typeof authoriser>[0]) =>
    denialOf(() => authoriser(options).require(["nowhere"], "crud/delete"));

  test("is told up to twenty grants", () => {
    expect(held({ caps: [many.slice(0, 20)] })).toMatchObject({ have: many.slice(0, 20), have_truncated: false });
    expect(held({ caps: [many.slice(0, 21)] })).toMatchObject({ have: many.slice(0, 20), have_truncated: true });
    expect(held({ authority: grants(...many) })).toMatchObject({ have: many.slice(0, 20), have_truncated: true });
  });

  test("is told once", () => {
    const twice = [many[0], many[0], { with: "file://r0/deeper", can: "crud/read" }];
    expect(held({ caps: [twice] })).toMatchObject({ have: [many[0]], have_truncated: false });
  });

  test("is what all lists and the authority have in common, the narrower of each pair", () => {
    const options = {
      caps: [[{ with: "file://docs/a", can: "crud" }], [{ with: "file://", can: "crud/read" }, many[3]]],
      authority: grants({ with: "file://docs/a/b", can: "*" }, { with: "file://other", can: "*" }),
    };
    expect(held(options)).toMatchObject({ have: [{ with: "file://docs/a/b", can: "crud/read" }] });
  });
});

describe("roots", () => {
  test("are seen by whoever holds anything in them", () => {
    const who = authoriser({ authority: grants({ with: "file://docs/deep/down", can: "crud/delete" }) });
    expect([who.seesRoot("docs"), who.seesRoot("doc"), who.seesRoot("docs2")]).toEqual([true, false, false]);
    expect(authoriser({ caps: [[{ with: "file://", can: "crud/read" }]] }).seesRoot("any")).toBe(true);
    expect(authoriser({ caps: [[]] }).seesRoot("docs")).toBe(false);
    const disjoint = [[{ with: "file://docs/a", can: "crud" }], [{ with: "file://docs/b", can: "crud" }]];
    expect(authoriser({ caps: disjoint }).seesRoot("docs")).toBe(false);
  });

  test("are listed for whoever may read anywhere in one of them", () => {
    const may = (caps: unknown) => denialOf(() => authoriser({ caps: [caps] }).requireAnyRead(["docs", "tmp"]));
    expect(may([{ with: "file://tmp/deep", can: "crud/read" }])).toBeUndefined();
    expect(may([{ with: "file://", can: "*" }])).toBeUndefined();
    expect(may([{ with: "file://tmp", can: "crud/write" }])).toMatchObject({ required: { with: "file://" } });
    expect(may([{ with: "file://temp", can: "crud/read" }])).toBeDefined();
    expect(may([])).toBeDefined();
  });
});

describe("whatever is granted", () => {
  const segment = fc.constantFrom("docs", "docs2", "a", "ab", "A", "a.txt");
  const path = fc.array(segment, { minLength: 1, maxLength: 4 });
  const can = fc.constantFrom("*", "crud", "crud/*", "crud/read", "crud/write", "crud/delete", "cru", "CRUD");
  const entry = fc.oneof(
    fc.record({ with: path.map((parts) => `file://${parts.join("/")}`), can }),
    fc.record({ with: fc.constantFrom("file://", "file:///", "*", "file://docs/../a"), can }),
    fc.anything(),
  );
  const list = fc.array(entry, { maxLength: 6 });
  const ability = fc.constantFrom<Ability>("crud/read", "crud/write", "crud/delete");

  test("a further list never widens", () => {
    fc.assert(
      fc.property(list, fc.oneof(list, fc.anything()), path, ability, (caps, more, wanted, what) => {
        const before = allows(authoriser({ caps: [caps] }), wanted.join("/"), what);
        const after = allows(authoriser({ caps: [caps, more] }), wanted.join("/"), what);
        expect(before || !after).toBe(true);
        // Nor does it narrow beyond what it says itself.
        expect(after).toBe(before && allows(authoriser({ caps: [more] }), wanted.join("/"), what));
      }),
      { numRuns: 1000 },
    );
  });

  test("a grant on a path covers that path and what is below, never a name that starts alike", () => {
    const name = fc.stringMatching(/^[a-z0-9._ -]*[a-z0-9]$/).filter((text) => !/^ |^\.*$/.test(text));
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), name, ability, (parts, suffix, what) => {
        const caps = [{ with: `file://${parts.join("/")}`, can: "crud" }];
        const who = authoriser({ caps: [caps] });
        expect(denialOf(() => who.require([...parts, suffix], what))).toBeUndefined();
        const sibling = [...parts.slice(0, -1), `${parts.at(-1)}${suffix}`];
        expect(denialOf(() => who.require(sibling, what))).toBeDefined();
        expect(denialOf(() => who.require(parts.slice(0, -1), what))).toBeDefined();
      }),
    );
  });

  test("what is denied is told with a list that would be denied alike", () => {
    fc.assert(
      fc.property(list, path, ability, (caps, wanted, what) => {
        const data = denialOf(() => authoriser({ caps: [caps] }).require(wanted, what));
        fc.pre(data !== undefined);
        expect(allows(authoriser({ caps: [data?.["have"]] }), wanted.join("/"), what)).toBe(false);
      }),
    );
  });
});

describe("rights on the real path", () => {
  const GRANT = { with: "file://r/open/", can: "crud" };
  const ground = useGround({ publicCaps: [GRANT], operator: venue.did });
  const PROOF = delegation({ by: venue, claims: { att: [GRANT], exp: Math.floor(Date.now() / 1000) + 3600 } });

  beforeEach(() => {
    ground.put("open/file", "open");
    ground.put("open/dir/file", "open");
    ground.put("closed/file", "closed");
    ground.mkdir("closed/empty");
    symlinkSync("../closed", join(ground.dir, "open/in"));
    symlinkSync("../closed/file", join(ground.dir, "open/to-file"));
    symlinkSync(join(ground.dir, "closed"), join(ground.dir, "open/absolute"));
    symlinkSync("../closed/nothing", join(ground.dir, "open/to-nothing"));
    symlinkSync("dir", join(ground.dir, "open/beside"));
    symlinkSync("../open", join(ground.dir, "closed/back"));
  });

  const WAYS: readonly [string, SurfaceContext][] = [
    ["a list", { caps: [GRANT] }],
    ["the list of one call", { callCaps: [GRANT] }],
    ["the directories of one call", { caps: [{ with: "file://", can: "crud" }], within: [["r", "open"]] }],
    ["public access", { callerDID: "did:key:z6MkSomebody" }],
    ["a proof by the owner of the root", { callerDID: bob.did, ucans: [PROOF] }],
  ];

  /** Everything that could be done behind a link, each with something there and with nothing there. */
  const CALLS: readonly [string, { path: string; [field: string]: unknown }, string][] = [
    ["read", { path: "open/in/file" }, "open/in/nothing"],
    ["read", { path: "open/absolute/file" }, "open/absolute/nothing"],
    ["read", { path: "open/to-file" }, "open/to-nothing"],
    ["list", { path: "open/in" }, "open/to-nothing"],
    ["list", { path: "open/in/empty" }, "open/in/nothing"],
    ["tree", { path: "open/in" }, "open/to-nothing"],
    ["stat", { path: "open/in/file" }, "open/in/nothing"],
    ["stat", { path: "open/to-file" }, "open/to-nothing"],
    ["write", { path: "open/in/file", content: "x" }, "open/in/nothing"],
    ["write", { path: "open/to-file", content: "x" }, "open/to-nothing"],
    ["write", { path: "open/in/new/file", content: "x", parents: true }, "open/in/file/x"],
    ["append", { path: "open/in/file", content: "x" }, "open/in/nothing"],
    ["mkdir", { path: "open/in/empty" }, "open/in/nothing"],
    ["mkdir", { path: "open/in/new/dir", parents: true }, "open/in/file/x"],
    ["delete", { path: "open/in/file" }, "open/in/nothing"],
    ["delete", { path: "open/in/empty", recursive: true }, "open/in/nothing"],
  ];

  const ABILITY: Readonly<Record<string, string>> = {
    write: "crud/write",
    append: "crud/write",
    mkdir: "crud/write",
    delete: "crud/delete",
  };

  function denial(name: string, path: string): Failure {
    const can = ABILITY[name] ?? "crud/read";
    return {
      code: "CAPABILITY_DENIED",
      message:
        `Capability denied: file:${name} requires ${can} on file://r/${path}. Your capabilities are: crud on file://r/open/. ` +
        "Retrying the same call will not succeed - the denial is structural.",
      data: {
        structural: true,
        retryable: false,
        operation: `file:${name}`,
        required: { with: `file://r/${path}`, can },
        denied_by: ["path_policy"],
        have: [GRANT],
        have_truncated: false,
        reasons: ["not_covered"],
      },
    };
  }

  describe.each(WAYS)("what a link leads to needs a grant of its own, under %s", (_, context) => {
    test.each(CALLS)("%s %j, whether or not anything is there", async (name, input, nothing) => {
      expect(await ground.fail(name, input, context)).toEqual(denial(name, input.path));
      expect(await ground.fail(name, { ...input, path: nothing }, context)).toEqual(denial(name, nothing));
      expect(ground.get("closed/file").toString()).toBe("closed");
      expect(readdirSync(join(ground.dir, "closed")).sort()).toEqual(["back", "empty", "file"]);
    });

    test("and has it where it lies in what is granted", async () => {
      expect((await ground.run("read", { path: "open/beside/file" }, context)).content).toBe("open");
      expect(await ground.run("write", { path: "open/beside/a/b", content: "", parents: true }, context)).toMatchObject(
        {
          created: true,
        },
      );
      expect(existsSync(join(ground.dir, "open/dir/a/b"))).toBe(true);
    });

    test("but a link itself may be removed, and is listed, by whoever has its directory", async () => {
      const { entries } = await ground.run("list", { path: "open" }, context);
      expect(entries.filter(({ type }) => type === "symlink")).toHaveLength(5);
      expect(await ground.run("delete", { path: "open/in" }, context)).toEqual({ deleted: true, existed: true });
      expect(existsSync(join(ground.dir, "closed/file"))).toBe(true);
    });

    test("and where it leads opens nothing that is asked for without a grant", async () => {
      const failed = await ground.fail("read", { path: "closed/back/file" }, context);
      expect(failed.data["denied_by"]).not.toContain("path_policy");
      expect(failed.code).toBe("CAPABILITY_DENIED");
    });
  });

  describe("directories made on the way", () => {
    test("need a grant where they really are, and not only where they were asked for", async () => {
      const caps = ["open/in", "closed/new/dir/file"].map((path) => ({ with: `file://r/${path}`, can: "crud" }));
      const write = { path: "open/in/new/dir/file", content: "x", parents: true };
      expect((await ground.fail("write", write, { caps })).data).toMatchObject({
        required: { with: "file://r/open/in/new", can: "crud/write" },
        denied_by: ["path_policy"],
      });
      expect(existsSync(join(ground.dir, "closed/new"))).toBe(false);
      const more = [...caps, { with: "file://r/closed/new", can: "crud/write" }];
      expect(await ground.run("write", write, { caps: more })).toMatchObject({ created: true });
    });
  });

  describe("a link that leads out of the root", () => {
    test("is an escape for whoever may ask, and a denial for others", async () => {
      symlinkSync(ground.outside, join(ground.dir, "open/out"));
      symlinkSync(ground.outside, join(ground.dir, "closed/out"));
      expect((await ground.fail("stat", { path: "open/out" }, { caps: [GRANT] })).code).toBe("SYMLINK_ESCAPE");
      expect((await ground.fail("stat", { path: "closed/out" }, { caps: [GRANT] })).code).toBe("CAPABILITY_DENIED");
    });
  });

  describe("the canonical path decides", () => {
    test.each([
      ["open", true],
      ["./open//dir/", true],
      ["/open/x/../dir", true],
      ["closed/../open/dir", true],
      ["open/../closed", false],
      ["openly", false],
      ["Open", false],
      ["", false],
    ])("%j: %p", async (path, granted) => {
      const listed = ground.adapter.invoke("file:list", { root: "r", path }, { caps: [GRANT] }).then(
        () => true,
        (error: unknown) => (error as Failure).code,
      );
      expect(await listed).toBe(granted ? true : "CAPABILITY_DENIED");
    });
  });
});

const grantOf = (resource: string, can = "crud/read") => {
  const grant = parseGrant({ with: resource, can });
  if (grant === undefined) throw new Error(`not a grant: ${resource}`);
  return grant;
};
const END = "Retrying the same call will not succeed - the denial is structural.";

describe("a denial", () => {
  const denial = (changes: Partial<Denial> = {}) =>
    capabilityDenied({
      operation: "file:write",
      required: { resource: "file://docs/secret/a", ability: "crud/write" },
      deniedBy: ["agent_caps"],
      have: [grantOf("file://docs/allowed/")],
      truncated: false,
      reasons: ["not_covered"],
      ...changes,
    });

  const requiring = (...segments: string[]) =>
    denial({ required: { resource: printResource(segments), ability: "crud/read" } }).message;

  test("says in one line what was asked for, what is held, and that it is final", () => {
    expect(denial().message).toBe(
      "Capability denied: file:write requires crud/write on file://docs/secret/a. " +
        `Your capabilities are: crud/read on file://docs/allowed/. ${END}`,
    );
  });

  test("says it as data, and nothing more", () => {
    const { code, data } = denial();
    expect(code).toBe("CAPABILITY_DENIED");
    expect(data).toEqual({
      structural: true,
      retryable: false,
      operation: "file:write",
      required: { with: "file://docs/secret/a", can: "crud/write" },
      denied_by: ["agent_caps"],
      have: [{ with: "file://docs/allowed/", can: "crud/read" }],
      have_truncated: false,
      reasons: ["not_covered"],
    });
  });

  test("says (none) where nothing is held", () => {
    expect(denial({ have: [] }).message).toContain("Your capabilities are: (none). Retrying");
  });

  test("names three grants, and counts the others", () => {
    const have = ["a", "b", "c", "d", "e"].map((name) => grantOf(`file://${name}/`, "crud"));
    const said = (count: number) =>
      /Your capabilities are: (.*)\. Retrying/.exec(denial({ have: have.slice(0, count) }).message)?.[1];
    expect(said(1)).toBe("crud on file://a/");
    expect(said(3)).toBe("crud on file://a/, crud on file://b/, crud on file://c/");
    expect(said(4)).toBe("crud on file://a/, crud on file://b/, crud on file://c/, and 1 more");
    expect(said(5)).toBe("crud on file://a/, crud on file://b/, crud on file://c/, and 2 more");
    expect(denial({ have }).data["have"]).toHaveLength(5);
  });

  test("prints what is held as it was written", () => {
    const have = [grantOf("file://docs", "crud/*"), grantOf("file://docs/a/", "*")];
    expect(denial({ have }).message).toContain("crud/* on file://docs, * on file://docs/a/. ");
  });

  test("prints a root, and all roots", () => {
    expect(requiring("docs")).toContain("requires crud/read on file://docs/. ");
    expect(requiring()).toContain("requires crud/read on file://. ");
    expect(denial({ have: [grantOf("file://", "*")] }).message).toContain("Your capabilities are: * on file://. ");
  });

  test("keeps a path of forty bytes, and shortens a longer one in its middle", () => {
    const path = `${"a".repeat(20)}/${"b".repeat(19)}`;
    expect(requiring("docs", ...path.split("/"))).toContain(`on file://docs/${path}. `);
    const longer = `a${path}`;
    expect(requiring("docs", ...longer.split("/"))).toContain(`on file://docs/${"a".repeat(18)}…${"b".repeat(18)}. `);
    const { data } = denial({ required: { resource: `file://docs/${longer}`, ability: "crud/read" } });
    expect(data["required"]).toEqual({ with: `file://docs/${longer}`, can: "crud/read" });
  });

  test("shortens by bytes, at whole characters", () => {
    const shown = /on file:\/\/docs\/(.*?)\. Your/.exec(requiring("docs", "é😀".repeat(10)))?.[1] ?? "";
    expect(shown).toBe("é😀é😀é😀…é😀é😀é😀");
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(40);
  });

  test("shortens what is held in the same way, and the name of a root that cannot be one", () => {
    const long = `file://docs/${"x".repeat(50)}`;
    const { message, data } = denial({ have: [grantOf(long)] });
    expect(message).toContain(`crud/read on file://docs/${"x".repeat(18)}…${"x".repeat(18)}. `);
    expect(data["have"]).toEqual([{ with: long, can: "crud/read" }]);
    expect(requiring("r".repeat(63), "a")).toContain(`on file://${"r".repeat(63)}/a. `);
    expect(requiring("r".repeat(1_000_000), "a")).toContain(`on file://${"r".repeat(30)}…${"r".repeat(30)}/a. `);
  });

  test("is one line, whatever the path holds", () => {
    const message = requiring("ro\not", "a\u202eb\u2028c\ud800");
    expect(message).toContain("on file://ro\\u{a}ot/a\\u{202e}b\\u{2028}c\\u{d800}. ");
    expect(message).not.toMatch(/[\n\u2028\u202e]/);
  });

  const paths = [
    "secret/a",
    "src/components/Button/index.tsx",
    "reports/this-year/quarter-3/summary.docx",
    "packages/core/src/dispatch/dispatch.ts",
    "Documents/Projekte/Übersicht 2026.xlsx",
    "node_modules/.cache/babel-loader/9f8e.js",
    "home/anna.mueller/notes/meeting_1.mdown",
  ];
  test.each(paths)("takes at most sixty tokens of a model, whatever is held: %s", (path) => {
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(40);
    const required = { resource: `file://docs/${path}`, ability: "crud/write" };
    for (const count of [0, 1, 2, 3, paths.length]) {
      const have = paths.slice(-count).map((held) => grantOf(`file://docs/${held}`));
      const { message } = denial({ operation: "file:append", required, have: count === 0 ? [] : have });
      expect(message).toContain(`file://docs/${path}. `);
      expect(message).toMatch(count === 0 ? /\(none\)/ : /are: crud\/read on file:\/\/docs\/\S/);
      expect(encode(message).length).toBeLessThanOrEqual(60);
    }
  });

  test("takes little more where the path is mostly digits", () => {
    const required = { resource: "file://docs/data/raw/2026-11-22/part-0001.cs", ability: "crud/write" };
    const have = paths.map((held) => grantOf(`file://docs/${held}`));
    expect(encode(denial({ required, have }).message).length).toBeLessThanOrEqual(62);
  });

  test("says which token to renew where only its time has passed", () => {
    const { message, data } = denial({ reasons: ["expired"], renew: "x".repeat(43) });
    expect(message).toMatch(/\. Renew the token x{43} and retry\.$/);
    expect(message).not.toContain("structural");
    expect(data).toMatchObject({ structural: false, retryable: true });
  });

  test("says whom to ask", () => {
    expect(denial({ remedy: "ask somebody" }).data["remedy"]).toBe("ask somebody");
    expect(denial({ ending: "Somebody else must sign." }).message).toMatch(/\. Somebody else must sign\.$/);
  });
});
