import { describe, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { capabilityDenied, type Denial } from "../../src/authz/denial.js";
import { parseGrant, printResource } from "../../src/authz/grant.js";

const grantOf = (resource: string, can = "crud/read") => {
  const grant = parseGrant({ with: resource, can });
  if (grant === undefined) throw new Error(`not a grant: ${resource}`);
  return grant;
};

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
const END = "Retrying the same call will not succeed - the denial is structural.";

describe("a denial", () => {
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
