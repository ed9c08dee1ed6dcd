import { expect, test } from "@jest/globals";
import { withoutPrefix } from "../../../../src/surfaces/http/plumbing/entrance.js";

test.each([
  ["/files/api/v1/status", "/files", "/api/v1/status"],
  ["/files", "/files", "/"],
  ["/files?a=/files/b", "/files", "/?a=/files/b"],
  ["/filesystem/a", "/files", "/filesystem/a"],
  ["/api/v1/files/docs/a", "/files", "/api/v1/files/docs/a"],
  ["/files/files/a", "/files", "/files/a"],
  ["/.well-known/mcp/files?x", "/files", "/.well-known/mcp?x"],
  ["/.well-known/mcp", "/files", "/.well-known/mcp"],
  ["/a/b/healthz", "/a/b", "/healthz"],
  ["/files/a", "", "/files/a"],
])("of %s below %s it serves %s", (target, prefix, path) => {
  expect(withoutPrefix(target, prefix)).toBe(path);
});
