import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { withRemedy } from "../../../src/sandbox/bwrap/user-namespaces.js";

const APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
const UID_MAP = "bwrap: setting up uid map: Permission denied";

const on = (files: Readonly<Record<string, string>>) => ({
  exists: (path: string) => Object.hasOwn(files, path),
  read: (path: string) => {
    const text = files[path];
    if (text === undefined) throw new Error("ENOENT");
    return text;
  },
});

test.each([
  [UID_MAP, { [APPARMOR]: "1\n" }, /AppArmor .* \/etc\/apparmor\.d\/bwrap as docs\/sandbox\.md says/],
  ["bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", { [APPARMOR]: "1\n" }, /\/etc\/apparmor\.d\/bwrap/],
  [
    "bwrap: No permissions to create a new namespace",
    { "/proc/sys/kernel/unprivileged_userns_clone": "0\n" },
    /sysctl kernel\.unprivileged_userns_clone to 1/,
  ],
  [
    "bwrap: Creating new namespace failed: exceeded (ENOSPC)",
    { "/proc/sys/user/max_user_namespaces": "0\n", [APPARMOR]: "1\n" },
    /sysctl user\.max_user_namespaces/,
  ],
])("%s is followed by what to do", (said, files, remedy) => {
  const text = withRemedy(said, on(files));
  expect(text.startsWith(`${said}. `)).toBe(true);
  expect(text).toMatch(remedy);
});

test.each([
  ["no such setting", UID_MAP, {}],
  ["the setting is off", UID_MAP, { [APPARMOR]: "0\n" }],
  ["there is a profile", UID_MAP, { [APPARMOR]: "1\n", "/etc/apparmor.d/bwrap-userns-restrict": "" }],
  ["it is something else", "bwrap: Unknown option --bind-fd", { [APPARMOR]: "1\n" }],
])("nothing is advised where %s", (_, said, files) => {
  expect(withRemedy(said, on(files))).toBe(said);
});

test("the page that is named has the profile", () => {
  const page = readFileSync("docs/sandbox.md", "utf8");
  const [, profile = ""] = /`\/etc\/apparmor\.d\/bwrap`:\n\n```text\n([^`]*)```/.exec(page) ?? [];
  expect(profile).toMatch(/^abi <abi\/4\.0>,\n[\s\S]*profile bwrap \/usr\/bin\/bwrap [\s\S]*\n {2}userns,\n\}\n$/);
});
