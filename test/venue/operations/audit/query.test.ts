import { describe, expect, test } from "@jest/globals";
import { useGround } from "../fixture.js";

const ground = useGround();
const STAT = { root: "docs", path: "sub/a.txt" };

interface Record {
  readonly caller: string;
  readonly operation: string;
  readonly outcome: string;
  readonly via: string;
}
const recordsOf = (answer: { readonly output: object }): readonly Record[] => Object(answer.output).records;

describe("audit:query", () => {
  test("shows the operator all, others their own calls and those of tokens that they made", async () => {
    await ground.open({ auth: { grants: [{ did: ground.bob.did, with: "file://docs/", can: "crud" }] } });
    const issued = await ground.call(
      "auth:issue",
      { label: "x", caps: [{ with: "file://docs/sub/", can: "crud/read" }] },
      { as: ground.bob },
    );
    const { token, id, did } = Object(issued.output);
    await ground.call("file:stat", STAT, { as: ground.bob });
    await ground.call("file:stat", STAT, { bearer: token });
    await ground.call("file:stat", STAT, { as: ground.carol });
    await ground.byOperator("file:stat", STAT);

    const all = recordsOf(await ground.byOperator("audit:query", { operation: "file:stat" }));
    expect(all.map(({ caller }) => caller)).toEqual([ground.venue.did, ground.carol.did, did, ground.bob.did]);
    expect(all[1]?.outcome).toBe("CAPABILITY_DENIED");
    expect(all[2]?.via).toBe(id);
    const seen = async (who: object) =>
      recordsOf(await ground.call("audit:query", { root: "docs", path: "sub" }, who)).map(({ caller }) => caller);
    expect(await seen({ as: ground.bob })).toEqual([did, ground.bob.did]);
    expect(await seen({ as: ground.carol })).toEqual([ground.carol.did]);
    expect(await seen({ bearer: token })).toEqual([did]);
    // Naming another does not help.
    const others = await ground.call("audit:query", { actor: ground.carol.did }, { as: ground.bob });
    expect(others.output).toEqual({ records: [], complete: true });
  });

  test("goes on at a cursor", async () => {
    await ground.open();
    for (const path of ["a", "b", "c"]) await ground.byOperator("file:stat", { root: "docs", path });
    const first = await ground.byOperator("audit:query", { operation: "file:stat", limit: 2 });
    expect(first.output).toMatchObject({
      complete: false,
      reason: "limit",
      records: [{ resource: "file://docs/c" }, {}],
    });
    const cursor = Object(first.output).nextCursor;
    const next = await ground.byOperator("audit:query", { operation: "file:stat", limit: 2, cursor });
    expect(next.output).toMatchObject({ complete: true, records: [{ resource: "file://docs/a" }] });
  });

  test.each<[string, object, object, string]>([
    ["a path without its root", { path: "a" }, {}, "INVALID_INPUT"],
    ["a path that leaves the root", { root: "docs", path: "../a" }, {}, "PATH_ESCAPES_ROOT"],
    ["a cursor of its own making", { cursor: "abc" }, {}, "INVALID_INPUT"],
    ["too many at once", { limit: 1001 }, {}, "INVALID_INPUT"],
    ["narrowed calls", {}, { caps: [{ with: "file://docs/", can: "crud/read" }] }, "CAPABILITY_DENIED"],
  ])("refuses %s", async (_, input, options, code) => {
    await ground.open();
    expect(await ground.byOperator("audit:query", input, options)).toMatchObject({ errorCode: code });
  });

  test("refuses callers without credentials", async () => {
    await ground.open();
    expect(await ground.call("audit:query")).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
  });

  test("without an audit file names the key", async () => {
    await ground.open({ audit: {} });
    expect(await ground.byOperator("audit:query")).toMatchObject({
      errorCode: "NOT_SUPPORTED",
      error: expect.stringContaining("audit.file"),
    });
  });
});
