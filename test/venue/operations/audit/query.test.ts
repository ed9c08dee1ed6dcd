import { describe, expect, test } from "@jest/globals";
import { send } from "../../../surfaces/http/client.js";
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

  test("is told as events to who made the token that was used, and to no other", async () => {
    await ground.open({ auth: { grants: [{ did: ground.bob.did, with: "file://docs/", can: "crud" }] } });
    const caps = [{ with: "file://docs/sub/", can: "crud/read" }];
    const { token, did } = Object((await ground.call("auth:issue", { label: "x", caps }, { as: ground.bob })).output);
    const session = async (as: typeof ground.bob) =>
      Object((await ground.call("auth:issue", { label: "page" }, { as })).output).token as string;
    const end = new AbortController();
    const follow = async (bearer: string) => {
      const url = `${ground.venue.url}/api/v1/events?topic=audit`;
      const { body } = await send(url, { token: bearer, signal: end.signal });
      const chunks = body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
      return async (operation: string): Promise<unknown> => {
        for (let text = ""; ; ) {
          text += (await chunks?.next())?.value ?? "";
          for (const [, data = ""] of text.matchAll(/^data: (.*)\n\n/gm)) {
            if (data.includes(operation)) return JSON.parse(data);
          }
        }
      };
    };
    const [bobs, carols] = [await follow(await session(ground.bob)), await follow(await session(ground.carol))];
    await ground.call("file:stat", STAT, { bearer: token });
    expect(await bobs('"file:stat"')).toMatchObject({ caller: did, resource: "file://docs/sub/a.txt" });
    await ground.call("file:stat", STAT, { as: ground.carol });
    // Her own call is the first that she hears of.
    expect(await carols('"file:stat"')).toMatchObject({ caller: ground.carol.did });
    end.abort();
  });

  test("finds what was done on a drive, by whichever name", async () => {
    await ground.open({
      file: { roots: { mine: { dlfs: "notes" }, docs: "docs" } },
      drives: { store: { path: "drives" } },
    });
    const as = ground.alice;
    await ground.call("dlfs:create-drive", { drive: "notes" }, { as });
    await ground.call("dlfs:write", { drive: "notes", path: "a/b", content: "x", parents: true }, { as });
    await ground.call("file:read", { root: "mine", path: "a/b" }, { as });
    await ground.call("file:read", { root: "docs", path: "a/b" }, { as });
    const found = async (input: object) =>
      recordsOf(await ground.byOperator("audit:query", input)).map(({ operation }) => operation);
    const both = ["file:read", "dlfs:write"];
    expect(await found({ root: "mine", path: "a" })).toEqual(both);
    expect(await found({ drive: "notes", path: "a/b" })).toEqual(both);
    expect(await found({ drive: "notes" })).toEqual([...both, "dlfs:create-drive"]);
    expect(await found({ drive: "other" })).toEqual([]);
    const two = await ground.byOperator("audit:query", { drive: "notes", root: "mine" });
    expect(two.errorCode).toBe("INVALID_INPUT");
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

  test("takes a cursor of the same caller and query alone, whatever the size of the page", async () => {
    await ground.open({ auth: { grants: [{ did: ground.bob.did, with: "file://docs/", can: "crud" }] } });
    for (const path of ["a", "b", "c"]) {
      await ground.byOperator("file:stat", { root: "docs", path });
      await ground.call("file:stat", { root: "docs", path }, { as: ground.bob });
    }
    const query = { operation: "file:stat", root: "docs", since: 1, until: 9e15 };
    const cursorOf = async (who: object): Promise<string> =>
      Object((await ground.call("audit:query", { ...query, limit: 1 }, who)).output).nextCursor;
    const [bob, operator] = [{ as: ground.bob }, { bearer: ground.venue.localToken }];
    const [own, all] = [await cursorOf(bob), await cursorOf(operator)];
    const refused = { errorCode: "INVALID_INPUT", error: expect.stringMatching(/same query by the same caller/) };
    expect(await ground.call("audit:query", { ...query, cursor: all }, bob)).toMatchObject(refused);
    expect(await ground.call("audit:query", { ...query, cursor: own }, operator)).toMatchObject(refused);
    const others = [
      ...[{ operation: "file:read" }, { operation: undefined }, { outcome: "OK" }, { actor: ground.bob.did }],
      ...[{ root: undefined }, { path: "a" }, { since: 2 }, { until: 8e15 }],
    ];
    for (const other of others) {
      const answer = await ground.call("audit:query", { ...query, ...other, cursor: own }, bob);
      expect([other, answer]).toMatchObject([other, refused]);
    }
    const rest = await ground.call("audit:query", { ...query, limit: 7, cursor: own }, bob);
    expect(recordsOf(rest)).toHaveLength(2);
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
