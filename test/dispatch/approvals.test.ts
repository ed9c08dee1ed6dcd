import { expect, test } from "@jest/globals";
import { etagOf, hashText } from "../../src/core/etag.js";
import type { At } from "../../src/core/ports/backend.js";
import { sha256Of } from "../../src/ops/content/file-etag.js";
import { dispatchOn } from "./fake.js";

test("a change is made only where links led when it was looked at", async () => {
  const walked: string[] = [];
  const made: string[] = [];
  const walk = ({ access }: Pick<At, "access">, target: string): void => {
    walked.push(target);
    access.real([target, "f"]);
  };
  const { call } = dispatchOn({
    approve: { for: ["delete"], minutes: 10 },
    backend: {
      stat: (_path, access) => void walk({ access }, "looked-at"),
      write(_path, _body, _options, access) {
        // The link has been turned meanwhile, once and for all in the second call.
        walk({ access }, made.length === 0 && walked.length > 1 ? "looked-at" : "elsewhere");
        made.push("f");
        return { bytes: 1, created: true };
      },
    },
  });
  const write = () => call("write", { path: "link/f", content: "x" }, { surface: "mcp" });
  expect(await write()).toMatchObject({ created: true });
  expect(walked).toEqual(["looked-at", "elsewhere", "looked-at", "looked-at"]);
  await expect(write()).rejects.toMatchObject({ code: "CONFLICT" });
  expect(made).toEqual(["f"]);
});

test("a change is made only on the content that was looked at, though the caller named it by its etag", async () => {
  const expected: unknown[] = [];
  const { call } = dispatchOn({
    approve: { for: ["delete"], minutes: 10 },
    backend: {
      write(_path, _body, options) {
        expected.push(options.expected);
        return { bytes: 1, created: false };
      },
    },
  });
  const sha256 = sha256Of(Buffer.from("x"));
  await call("append", { path: "f", content: "x" });
  const ifMatch = etagOf(sha256);
  await call("write", { path: "f", content: "y", ifMatch }, { surface: "mcp" });
  expect(expected).toEqual([{ content: hashText(sha256) }]);
  // One that is not met refuses the change.
  await expect(
    call("write", { path: "f", content: "y", ifMatch: "aaaaaaaa" }, { surface: "mcp" }),
  ).rejects.toMatchObject({
    code: "CONFLICT",
  });
  await expect(call("write", { path: "f", content: "y", ifNoneMatch: "*" }, { surface: "mcp" })).rejects.toMatchObject({
    code: "CONFLICT",
  });
  expect(expected).toHaveLength(1);
});
