import { describe, expect, test } from "@jest/globals";
import { nearestName } from "../../src/schema/nearest.js";

const KEYS = ["name", "hostname", "port", "auth", "maxRequestBytes", "jobs", "mcp", "audit", "file"];
const ROOT_KEYS = ["path", "temp", "prefix", "readOnly", "description", "durability", "crossDevice", "hardLinks", "io"];

describe("the nearest key", () => {
  test.each([
    ["prot", KEYS, "port"],
    ["PORT", KEYS, "port"],
    ["host", KEYS, "hostname"],
    ["files", KEYS, "file"],
    ["auht", KEYS, "auth"],
    ["max_request_bytes", KEYS, "maxRequestBytes"],
    ["readonly", ROOT_KEYS, "readOnly"],
    ["read-only", ROOT_KEYS, "readOnly"],
    ["desc", ROOT_KEYS, "description"],
    ["tmp", ROOT_KEYS, "temp"],
    ["oi", ROOT_KEYS, undefined],
    ["colour", KEYS, undefined],
    ["a", ROOT_KEYS, undefined],
    ["", KEYS, undefined],
    ["roots", [], undefined],
  ])("to %j is found only when it is near", (key, known, expected) => {
    expect(nearestName(key, known)).toBe(expected);
  });
});
