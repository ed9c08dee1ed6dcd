import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { Authoriser } from "../../src/authz/authorise.js";
import { readCaps } from "../../src/authz/caps-list.js";
import { type Grant, parseGrant } from "../../src/authz/grant.js";
import type { Ability, Capability } from "../../src/core/call/capability.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
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
