import { afterEach, describe, expect, test } from "@jest/globals";
import { AcpClientFs } from "../../../../src/surfaces/acp/client-fs.js";
import type { AcpOptions, ElicitAnswer, ElicitRequest } from "../../../../src/surfaces/acp/options.js";
import { fitsForm } from "../../../../src/surfaces/acp/protocol/elicitation.js";
import { useGround } from "../../../ops/ground.js";
import { connectAgent, SDKS } from "../stage.js";
import { connect2 } from "./versions.js";

const ground = useGround();
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface Asked {
  readonly session: string;
  readonly capabilities: unknown;
  ask(
    method: string,
    params: object,
  ): Promise<{ readonly result?: unknown; readonly error?: { readonly code: number } }>;
  cancel(): Promise<void>;
}

const newFs = (options: Partial<AcpOptions>): AcpClientFs =>
  new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }], ...options });

/** @param kind an SDK with an agent of version 1, or `version 2` */
async function open(
  kind: string,
  options: Partial<AcpOptions>,
  configure?: (completed: unknown[]) => void,
): Promise<Asked> {
  if (kind !== "version 2") {
    const agent = connectAgent(newFs(options), kind as "1");
    stops.push(() => agent.stop());
    const session = await agent.newSession({ cwd: ground.dir });
    const { initialize } = (await agent.greeting(session)) as { initialize: { clientCapabilities: object } };
    const capabilities = (initialize.clientCapabilities as { elicitation?: object }).elicitation;
    return {
      session,
      capabilities,
      ask: (method, params) => agent.ask(session, method, params),
      cancel: () => agent.cancel(session),
    };
  }
  const completed: unknown[] = [];
  configure?.(completed);
  const agent = await connect2(newFs(options), "over stdio", {
    configure: (app) =>
      app
        .onNotification("session/update", () => {})
        .onNotification("elicitation/complete", ({ params }) => void completed.push(params.elicitationId)),
  });
  stops.push(() => agent.stop());
  const session = await agent.connection.newSession({ cwd: ground.dir });
  const { initialize } = (await agent.ask(session, "greeting")).result as { initialize: { capabilities: object } };
  const capabilities = (initialize.capabilities as { elicitation?: object }).elicitation;
  return {
    ...{ session, capabilities },
    ask: (method, params) => agent.ask(session, method, { sessionId: session, ...params }),
    cancel: () => agent.connection.agent.notify("session/cancel", { sessionId: session }),
  };
}

const schema = { type: "object", properties: { name: { type: "string", minLength: 2 } }, required: ["name"] };
const form = { mode: "form", message: "Who?", requestedSchema: schema };
const page = { mode: "url", message: "Sign in", url: "https://example.org/x", elicitationId: "e" };
const CREATE = "elicitation/create";

describe.each([...SDKS.map((sdk) => sdk as string), "version 2"])("an agent (%s) that asks the user", (kind) => {
  test("gets what the hook answers, if it fits the form", async () => {
    const requests: ElicitRequest[] = [];
    const answers: ElicitAnswer[] = [
      { action: "accept", content: { name: "Ada" } },
      { action: "accept", content: { name: "A" } },
      { action: "accept" },
      { action: "decline" },
      { action: "cancel" },
    ];
    const elicit = (request: ElicitRequest): ElicitAnswer => {
      requests.push(request);
      return answers.shift() ?? { action: "cancel" };
    };
    const { session, capabilities, ask } = await open(kind, { elicit });
    if (kind !== "1") expect(capabilities).toEqual({ form: {} });
    const results = [];
    for (let index = 0; index < 5; index++) results.push((await ask(CREATE, form)).result);
    expect(results).toEqual([
      { action: "accept", content: { name: "Ada" } },
      ...["cancel", "cancel", "decline", "cancel"].map((action) => ({ action })),
    ]);
    expect(requests[0]).toMatchObject({ mode: "form", message: "Who?", sessionId: session, schema });
    expect((await ask(CREATE, page)).error?.code).toBe(-32602);
    expect((await ask(CREATE, { ...form, sessionId: "of another" })).error?.code).toBe(-32002);
    expect(requests).toHaveLength(5);
  });

  test("is refused without a hook, and told of none", async () => {
    const { capabilities, ask } = await open(kind, {});
    expect(capabilities ?? undefined).toBeUndefined();
    expect((await ask(CREATE, form)).error?.code).toBe(-32601);
  });

  test("may name a page where the hook takes pages", async () => {
    const requests: ElicitRequest[] = [];
    const elicit = (request: ElicitRequest): ElicitAnswer => {
      requests.push(request);
      return { action: "accept" };
    };
    const { capabilities, ask } = await open(kind, { elicit, elicitUrl: true });
    if (kind !== "1") expect(capabilities).toEqual({ form: {}, url: {} });
    expect(await ask(CREATE, page)).toEqual({ result: { action: "accept" } });
    expect(requests).toMatchObject([{ mode: "url", url: "https://example.org/x" }]);
    expect(requests[0]).not.toHaveProperty("schema");
  });

  test("may cancel, and never learns why a hook has failed", async () => {
    let isAsked: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    let count = 0;
    const elicit = ({ signal }: ElicitRequest): Promise<ElicitAnswer> => {
      count += 1;
      if (count === 1) throw new Error("/secret/path");
      isAsked();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve({ action: "decline" })));
    };
    const { ask, cancel } = await open(kind, { elicit });
    expect((await ask(CREATE, form)).error).toMatchObject({ code: -32603, message: "Internal error" });
    const answer = ask(CREATE, form);
    await asked;
    await cancel();
    expect((await answer).error).toMatchObject({ code: -32800 });
  });
});

test("the end of a page goes to the host", async () => {
  let seen: unknown[] = [];
  const { ask } = await open("version 2", { elicit: () => ({ action: "accept" }), elicitUrl: true }, (completed) => {
    seen = completed;
  });
  await ask("notify:elicitation/complete", { elicitationId: "e" });
  expect(seen).toEqual(["e"]);
});

describe("content fits a form", () => {
  const field = (one: object) => ({ properties: { a: one } });
  const CASES: readonly [object, unknown, boolean][] = [
    [field({ type: "string" }), { a: "x" }, true],
    [field({ type: "string" }), { a: 1 }, false],
    [field({ type: "string" }), { b: "x" }, false],
    [field({ type: "string" }), {}, true],
    [{ ...field({ type: "string" }), required: ["a"] }, {}, false],
    [field({ type: "string" }), undefined, false],
    [field({ type: "string" }), ["x"], false],
    [field({ type: "string" }), JSON.parse('{"__proto__":"x"}'), false],
    [field({ type: "string", maxLength: 1 }), { a: "😀" }, true],
    [field({ type: "string", maxLength: 1 }), { a: "ab" }, false],
    [field({ type: "string", enum: ["x"] }), { a: "y" }, false],
    [field({ type: "string", oneOf: [{ const: "x", title: "X" }] }), { a: "x" }, true],
    [field({ type: "string", oneOf: [{ const: "x", title: "X" }] }), { a: "X" }, false],
    [field({ type: "string", pattern: "^a+$" }), { a: "aa" }, true],
    [field({ type: "string", pattern: "^a+$" }), { a: "ab" }, false],
    [field({ type: "string", pattern: "(" }), { a: "(" }, false],
    [field({ type: "string", pattern: "^(a+)+$" }), { a: `${"a".repeat(5000)}b` }, false],
    [field({ type: "string", minLength: null, pattern: null, enum: null }), { a: "" }, true],
    [field({ type: "integer" }), { a: 1.5 }, false],
    [field({ type: "number", minimum: 1, maximum: 2 }), { a: 1.5 }, true],
    [field({ type: "number", minimum: 1 }), { a: 0 }, false],
    [field({ type: "number" }), { a: Number.NaN }, false],
    [field({ type: "boolean" }), { a: "true" }, false],
    [field({ type: "array", items: { type: "string", enum: ["x", "y"] } }), { a: ["x", "y"] }, true],
    [field({ type: "array", items: { type: "string", enum: ["x"] } }), { a: ["z"] }, false],
    [field({ type: "array", items: { anyOf: [{ const: "x", title: "X" }] }, maxItems: 1 }), { a: ["x"] }, true],
    [field({ type: "array", items: { type: "string", enum: ["x"] }, minItems: 1 }), { a: [] }, false],
    [field({ type: "other" }), { a: "x" }, false],
    [field({ $ref: "http://127.0.0.1:1/x" }), { a: "x" }, false],
  ];
  test.each(CASES)("%j: %j %s", async (schema, content, fits) => {
    expect(await fitsForm(schema as Record<string, unknown>, content)).toBe(fits);
  });
});
