import { describe, expect, test } from "@jest/globals";
import { notFound } from "../../src/core/errors/texts.js";
import { failureOf } from "../ops/ground.js";
import { dispatchOn } from "./fake.js";

const SECRET = "/etc/host/path of token s3cret";
const system = Object.assign(new Error(`EIO: i/o error, open '${SECRET}'`), {
  code: "EIO",
  syscall: "open",
  path: SECRET,
});

describe("what nobody foresaw", () => {
  const thrown: readonly [string, unknown][] = [
    ["an error of the language", new TypeError(SECRET)],
    ["a system error that no backend named", system],
    ["a text", SECRET],
    ["an object that looks like ours", { name: "FileAdapterError", code: "NOT_FOUND", message: SECRET, data: {} }],
    ["nothing", undefined],
    ["null", null],
  ];
  for (const how of ["throws", "rejects"] as const) {
    test.each(thrown)(
      `is INTERNAL without detail, and told to the operator: a backend ${how} %s`,
      async (_, reason) => {
        const stat = () => {
          if (how === "rejects") return Promise.reject(reason);
          throw reason;
        };
        const { call, internal, audit } = dispatchOn({ backend: { stat } });
        const { code, message, data } = await failureOf(call("stat"));
        expect(code).toBe("INTERNAL");
        expect(message).toMatch(/^Internal error \([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\)$/);
        expect(data).toEqual({});
        expect(internal).toEqual([{ error: reason, requestId: message.slice("Internal error (".length, -1) }]);
        expect(audit).toMatchObject([{ outcome: "INTERNAL", resource: "file://r/file" }]);
      },
    );
  }

  test("has another id each time", async () => {
    const { call, internal } = dispatchOn({
      backend: {
        stat() {
          throw new Error("x");
        },
      },
    });
    await failureOf(call("stat"));
    await failureOf(call("stat"));
    expect(new Set(internal.map(({ requestId }) => requestId)).size).toBe(2);
  });

  test("leaves the next call alone", async () => {
    let broken = true;
    const { call } = dispatchOn({
      limits: { maxConcurrent: 1 },
      backend: {
        stat() {
          if (broken) throw new Error("x");
          return undefined;
        },
      },
    });
    expect((await failureOf(call("stat"))).code).toBe("INTERNAL");
    broken = false;
    expect(await call("stat")).toEqual({ exists: false });
  });

  test("in a source of content is the same", async () => {
    const { call, internal } = dispatchOn();
    const resolveAsset = async () => {
      throw system;
    };
    expect((await failureOf(call("write", { asset: "x" }, { resolveAsset }))).code).toBe("INTERNAL");
    expect(internal).toEqual([{ error: system, requestId: expect.any(String) }]);
    expect(await call("stat")).toEqual({ exists: false });
  });
});

describe("what a backend says itself", () => {
  test("arrives as it is, and is no surprise", async () => {
    const refusal = notFound({ root: "r", path: "file" });
    const { call, internal } = dispatchOn({
      backend: {
        stat() {
          throw refusal;
        },
      },
    });
    await expect(call("stat")).rejects.toBe(refusal);
    expect(internal).toEqual([]);
  });
});
