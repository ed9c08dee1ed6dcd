import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { Sys } from "../../../src/jail/sys.js";
import { useGround } from "../ground.js";

/** Most bytes that one system call reads here. */
const MOST = 700;
const SMALL = "small, and longer than one call reads. ".repeat(60);
const LARGE = "large, kept by a link and not by a copy. ".repeat(5000);

const ground = useGround({ journal: true });
const { run } = ground;

beforeEach(() => {
  const { read } = Sys.prototype;
  // The system may always read less than it was asked for.
  jest.spyOn(Sys.prototype, "read").mockImplementation(function (this: Sys, fd, buffer, at, position) {
    return read.call(this, fd, buffer.subarray(0, Math.min(buffer.length, at + MOST)), at, position);
  });
});

afterEach(() => {
  jest.restoreAllMocks();
});

const contentAt = async (path: string, version?: string): Promise<unknown> =>
  (await run("read", { path, ...(version === undefined ? {} : { version }) })).content;

test.each([
  ["small", SMALL],
  ["large", LARGE],
])(
  "a %s file is read, kept and brought back whole where the system reads less than it is asked for",
  async (_, text) => {
    await run("write", { path: "f", content: text });
    expect(await contentAt("f")).toBe(text);
    await run("write", { path: "f", content: "other" });
    const [replaced] = (await run("history", { path: "f", limit: 1 })).entries;
    expect(await contentAt("f", `${replaced?.id}:before`)).toBe(text);
    await run("undo", { last: 1 });
    expect(await contentAt("f")).toBe(text);
    await run("delete", { path: "f" });
    const [deleted] = (await run("history", { path: "f", limit: 1 })).entries;
    expect(await contentAt("f", `${deleted?.id}:before`)).toBe(text);
    await run("restore", { path: "f", to: `${deleted?.id}:before` });
    expect(await contentAt("f")).toBe(text);
  },
);
