import { describe, expect, test } from "@jest/globals";
import { NO_PRECONDITION } from "../../src/dispatch/call/parts.js";
import { failureOf, useGround } from "../ops/ground.js";

const ground = useGround({ roots: { other: { temp: true } } });
const call = (name: string, input: object, context = {}) =>
  ground.adapter.invoke(`file:${name}`, { root: "r", ...input } as never, context) as Promise<Record<string, unknown>>;

describe("a precondition that is null", () => {
  test.each<[string, object]>([
    ["write", { path: "a", content: "x", ifMatch: null }],
    ["write", { path: "new", content: "x", ifNoneMatch: null }],
    ["append", { path: "a", content: "x", expectedSize: null }],
    ["edit", { path: "a", oldText: "one", newText: "two", ifMatch: null }],
    ["delete", { path: "a", ifMatch: null }],
    ["mkdir", { path: "d", ifNoneMatch: null }],
    ["move", { path: "a", to: "b", ifMatchTo: null }],
    ["copy", { path: "a", to: "b", ifNoneMatchTo: null }],
  ])("is none, and the answer of %s says so: %j", async (name, input) => {
    ground.put("a", "one\n");
    expect(await call(name, input)).toMatchObject({ hint: NO_PRECONDITION });
  });

  test("is nothing to speak of where it was never there, or is not null", async () => {
    ground.put("a", "one");
    expect(await call("write", { path: "a", content: "x", parents: null })).not.toHaveProperty("hint");
    const { etag } = await call("stat", { path: "a", hash: true });
    expect(await call("write", { path: "a", content: "y", ifMatch: etag })).not.toHaveProperty("hint");
  });

  test("is told to a model beside a diff", async () => {
    ground.put("a", "one\n");
    const input = { path: "a", oldText: "one", newText: "two", ifMatch: null } as never;
    expect(await ground.render("edit", input)).toMatchObject({ note: expect.stringMatching(`${NO_PRECONDITION}$`) });
  });
});

describe("an optional field that is null", () => {
  test("is left out, and null stays a JSON value", async () => {
    expect(await call("write", { path: "n.json", value: null, content: null, parents: null })).toMatchObject({
      written: 4,
    });
    expect(ground.get("n.json").toString()).toBe("null");
    expect(await call("tree", { path: null, maxDepth: null, info: null })).toMatchObject({ tree: "r/\n\tn.json\n" });
    expect(await call("list", { path: "", offset: null, limit: null })).toMatchObject({ total: 1 });
  });

  test("is still refused where something is required", async () => {
    expect(await ground.fail("stat", { path: null })).toMatchObject({
      code: "INVALID_INPUT",
      message: "'path' must be a string",
    });
  });
});

describe("a call without a root", () => {
  const missing = (context: object) => failureOf(ground.adapter.invoke("file:list", { path: "" } as never, context));

  test("is told which roots it may name: those in which the caller holds something", async () => {
    expect(await missing({})).toEqual({
      code: "INVALID_INPUT",
      message: "'root' is required. Configured: [r, other]",
      data: { pointer: "/root", expected: "a value" },
    });
    const caps = [{ with: "file://other/", can: "crud/read" }];
    expect(await missing({ caps })).toMatchObject({ message: "'root' is required. Configured: [other]" });
    expect(await missing({ caps: [] })).toMatchObject({ message: "'root' is required. Configured: []" });
    expect(await missing({ caps: "no list" })).toMatchObject({ message: "'root' is required. Configured: []" });
  });
});
