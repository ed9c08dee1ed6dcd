import { expect, test } from "@jest/globals";
import { testAccess } from "../../../src/backend-suite/access.js";
import { adapterError, type ErrorCode } from "../../../src/core/errors/errors.js";
import type { PathCall, PlacesCall } from "../../../src/core/ports/operation.js";
import { ignoreRules } from "../../../src/ops/searching/search.js";

/** A call in whose root looking at any rule file fails. */
function failing(code: ErrorCode): { base: PathCall; call: PlacesCall } {
  const access = testAccess();
  const at = () => ({
    path: { text: "a/b", segments: ["a", "b"] },
    access,
    root: { backend: { stat: () => Promise.reject(adapterError(code, "no")) } },
  });
  return { base: at() as unknown as PathCall, call: { at } as unknown as PlacesCall };
}

test.each<ErrorCode>(["ABORTED", "TIMEOUT"])(
  "a call that ends while ignore files are read says so: %s",
  async (code) => {
    await expect(ignoreRules({ root: "r" }, failing(code))).rejects.toMatchObject({ code });
  },
);

test.each<ErrorCode>(["CAPABILITY_DENIED", "DENIED_BY_POLICY", "NOT_FOUND"])(
  "ignore files that may not be read have no effect: %s",
  async (code) => {
    await expect(ignoreRules({ root: "r" }, failing(code))).resolves.toMatchObject({ unread: 0 });
  },
);
