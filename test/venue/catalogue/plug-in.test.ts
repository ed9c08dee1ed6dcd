import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createVenue, FileAdapterError, type Venue } from "../../../src/index.js";
import { send } from "../../surfaces/http/client.js";
import { CLIENT_NAMES, closeSessions, connect } from "../../surfaces/mcp/sessions.js";

const cyclic = (): object => {
  const one: Record<string, unknown> = { size: 1 };
  one["self"] = one;
  return one;
};

/** Throws at every look at it. */
const hostile = (): object => {
  const refuse = (): never => {
    throw new Error("no look");
  };
  return new Proxy(
    {},
    { get: refuse, getPrototypeOf: refuse, has: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse },
  );
};

/** As JavaScript calls it, which knows no types. */
const loose = (...args: readonly unknown[]): FileAdapterError => Reflect.construct(FileAdapterError, args);

const throws: Readonly<Record<string, () => unknown>> = {
  noData: () => loose("NOT_FOUND", "text"),
  nullData: () => loose("NOT_FOUND", "text", null),
  textData: () => loose("NOT_FOUND", "text", "data"),
  cyclicData: () => loose("NOT_FOUND", "text", cyclic()),
  hostileData: () => loose("NOT_FOUND", "text", hostile()),
  largeData: () => loose("NOT_FOUND", "text", { size: 2n ** 70n }),
  noCode: () => loose(undefined, "text"),
  noText: () => loose("NOT_FOUND"),
  hostile,
  hostileFault: () => new Proxy(loose("NOT_FOUND", "text"), {}),
  hostileCode: () => Object.defineProperty(loose("NOT_FOUND", "text"), "code", { get: () => hostile() }),
  text: () => "text",
  nothing: () => undefined,
  null: () => null,
  bigint: () => 1n,
  symbol: () => Symbol("one"),
  cyclic,
  error: () => Object.assign(new Error("secret"), { cause: cyclic() }),
};
const told: ReadonlySet<string> = new Set(["noData", "nullData", "textData", "cyclicData", "hostileData", "largeData"]);

const outputs: Readonly<Record<string, { readonly output: unknown; readonly json: unknown }>> = {
  list: { output: [1, 2], json: [1, 2] },
  text: { output: "text", json: "text" },
  number: { output: 3, json: 3 },
  no: { output: false, json: false },
  null: { output: null, json: null },
  nothing: { output: undefined, json: null },
  function: { output: () => 1, json: null },
  date: { output: new Date(0), json: "1970-01-01T00:00:00.000Z" },
  large: { output: { size: 2n ** 60n }, json: { size: 2 ** 60 } },
  largeList: { output: [2n ** 60n], json: [2 ** 60] },
  object: { output: { a: { b: [] } }, json: { a: { b: [] } } },
};
const unwritable: Readonly<Record<string, () => unknown>> = { cyclic, hostile };

const operationOf = (name: string) => ({ name, description: `Does ${name}` });
let venue: Venue;
let url: string;

beforeAll(async () => {
  venue = await createVenue({
    port: 0,
    stateDir: false,
    auth: { public: { enabled: true } },
    mcp: { includeAdapters: ["plug"] },
  });
  venue.register({
    name: "plug",
    description: "Misbehaves",
    operations: [
      ...Object.keys(throws).map((name) => operationOf(`plug:throw-${name}`)),
      ...Object.keys(outputs).map((name) => operationOf(`plug:give-${name}`)),
      ...Object.keys(unwritable).map((name) => operationOf(`plug:give-${name}`)),
      { ...operationOf("plug:declared"), output: { type: "array", items: { type: "number" } } },
      { ...operationOf("plug:either"), output: { anyOf: [{ type: "array" }, { type: "object" }] } },
    ],
    invoke: async (operation) => {
      const [, kind, name = ""] = /^plug:(throw|give)-(.*)$/.exec(operation) ?? [];
      if (kind === "throw") throw throws[name]?.();
      if (kind === "give") return name in unwritable ? unwritable[name]?.() : outputs[name]?.output;
      return [1];
    },
  });
  ({ url } = await venue.listen());
});
afterAll(async () => {
  await closeSessions();
  await venue.close();
});

const post = (path: string, operation: string): Promise<Response> =>
  send(`${url}/api/v1/${path}`, { json: { operation, input: {}, wait: true } });

const run = async (operation: string): Promise<unknown> => (await post("run", operation)).json();

describe("a job ends, whatever its adapter throws", () => {
  test.each(Object.keys(throws))("%s", async (name) => {
    const started = await post("invoke", `plug:throw-${name}`);
    expect(started.status).toBe(201);
    const code = told.has(name) ? "NOT_FOUND" : "INTERNAL";
    expect(await started.json()).toMatchObject({ status: "FAILED", errorCode: code });
    const answer = await run(`plug:throw-${name}`);
    expect(answer).toMatchObject({ errorCode: code });
    expect(JSON.stringify(answer)).not.toContain("secret");
  });

  test.each(Object.keys(unwritable))("or gives what cannot be written: %s", async (name) => {
    expect(await run(`plug:give-${name}`)).toMatchObject({ errorCode: "INTERNAL" });
    const listed = (await (await post("invoke", `plug:give-${name}`)).json()) as object;
    expect(listed).toMatchObject({ status: "FAILED", errorCode: "INTERNAL" });
  });

  test("and keeps the text and what can be written of the data", async () => {
    expect(await run("plug:throw-largeData")).toEqual({
      error: "text",
      errorCode: "NOT_FOUND",
      errorData: { size: 2 ** 70 },
    });
  });
});

test.each(Object.entries(outputs))("an output that is %s is given as it is over HTTP", async (name, { json }) => {
  expect(await run(`plug:give-${name}`)).toEqual(json);
});

describe.each(CLIENT_NAMES)("over MCP, to %s,", (client) => {
  test("every output comes as an object and as text", async () => {
    const session = await connect(client, { url });
    for (const tool of await session.list()) expect(tool.outputSchema).toMatchObject({ type: "object" });
    for (const [name, { json }] of Object.entries(outputs)) {
      const answer = await session.call(`plug_give-${name}`);
      const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
      expect([name, answer.isError ?? false, answer.structuredContent]).toEqual([
        name,
        false,
        isObject ? json : { result: json },
      ]);
      expect(JSON.parse(String(answer.content[0]?.["text"]))).toEqual(json);
    }
    expect((await session.call("plug_declared")).structuredContent).toEqual({ result: [1] });
    expect((await session.call("plug_either")).structuredContent).toEqual({ result: [1] });
  });

  test("every failure is told", async () => {
    const session = await connect(client, { url });
    for (const name of [...Object.keys(throws).map((one) => `throw-${one}`), "give-cyclic", "give-hostile"]) {
      const { isError, _meta } = await session.call(`plug_${name}`);
      const errorCode = told.has(name.slice("throw-".length)) ? "NOT_FOUND" : "INTERNAL";
      expect([name, isError, _meta?.["venue-files/error"]]).toMatchObject([name, true, { errorCode }]);
    }
  });
});
