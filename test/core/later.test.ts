import { describe, expect, test } from "@jest/globals";
import { later, loadAhead } from "../../src/core/later.js";

const failing = (code: string) => async () => {
  throw Object.assign(new Error(code), { code, syscall: "open" });
};

describe("what is loaded ahead", () => {
  test("is loaded once, with what asks for it meanwhile, whatever fails", async () => {
    const loaded: string[] = [];
    const load = (name: string) => async () => void loaded.push(name);
    later(load("first"));
    for (const code of ["EMFILE", "MODULE_NOT_FOUND"]) later(failing(code));
    later(async () => {
      loaded.push("second");
      later(load("inner"));
    });
    const failures: unknown[] = [];
    for (let time = 0; time < 2; time++) await loadAhead((error) => failures.push(error));
    expect(loaded).toEqual(["first", "second", "inner"]);
    expect(failures).toMatchObject([{ code: "EMFILE" }]);
  });
});
