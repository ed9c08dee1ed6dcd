import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { letsOthersIn, namesOthers } from "../../src/process/private-folder.js";

const OWN = "(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;FA;;;S-1-5-21-1004336348-1177238915-682003330-1001)";

describe("an access list", () => {
  test.each([
    ["of the user, the system and administrators", `x\nD:AI${OWN}`, false],
    ["that denies everyone", `x\nD:P(D;;FA;;;WD)${OWN}`, false],
    ["of the owner", "x\nD:P(A;OICI;FA;;;OW)(A;OICIIO;GA;;;CO)", false],
    ["of users who may read", `x\nD:AI(A;OICIID;0x1200a9;;;BU)${OWN}`, true],
    ["of authenticated users, for what comes into it", `x\nD:AI${OWN}(A;OICIIOID;SDGXGWGR;;;AU)`, true],
    ["of everyone, by a number", `x\nD:AI${OWN}(A;;FA;;;S-1-1-0)`, true],
    ["of all users of a domain", `x\nD:AI(A;;FA;;;S-1-5-21-1-2-3-513)`, true],
    ["with a condition", `x\nD:AI(XA;;FR;;;WD;(Member_of {SID(BA)}))`, true],
  ])("%s", (_, list, is) => {
    expect(namesOthers(list)).toBe(is);
  });
});

describe("a new folder is asked by a program", () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "venue-files-test-"));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  /** A program in the place of icacls, which gets `FOLDER /save FILE /q`. */
  function program(script: string): string {
    const path = join(base, "icacls");
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
    return path;
  }
  const folder = () => mkdtempSync(join(base, "state-"));
  const saving = (list: string) =>
    program(`printf '%s' '${list}' | sed 's/./&\\x00/g' > "$3"; test "$2 $4" = "/save /q"`);

  test("and nothing of that stays", () => {
    const [open, own] = [folder(), folder()];
    expect(letsOthersIn(open, saving("D:AI(A;;FA;;;BU)"))).toBe(true);
    expect(letsOthersIn(own, saving("D:AI(A;;FA;;;BA)"))).toBe(false);
    expect([...readdirSync(open), ...readdirSync(own)]).toEqual([]);
  });

  test.each([
    ["is missing", () => join(base, "none")],
    ["fails", () => program("exit 5")],
    ["writes something else", () => program('echo nonsense > "$3"')],
  ])("where it %s, that is told", (_, icacls) => {
    const told = jest.spyOn(process, "emitWarning").mockImplementation(() => {});
    const path = folder();
    expect(letsOthersIn(path, icacls())).toBe(false);
    expect(told).toHaveBeenCalledWith(expect.stringContaining(`Who may read ${path} could not be found out`));
    told.mockRestore();
    expect(existsSync(join(path, ".access-list"))).toBe(false);
  });
});
