import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { isBlocked } from "../../../src/profiles/jettson/blocklist.js";

describe("a command is blocked where it would be run:", () => {
  test.each([
    "rm -rf /",
    "rm -fr /",
    "rm -r -f /",
    "rm -f -R /",
    "rm --recursive --force /*",
    "rm --rec --forc /",
    "rm -rfv --no-preserve-root /",
    "rm / -rf",
    "rm -rf -- /",
    "rm -rf /.",
    "rm -rf //",
    "rm -rf /./",
    "rm -rf ./build /",
    "/bin/rm -rf /",
    "cd x && sudo rm -fr /",
    "true||rm -rf /",
    "true & rm -rf /",
    "echo a|rm -rf /",
    "(rm -rf /)",
    "{ rm -rf /; }",
    "echo a\nrm -rf /",
    "echo $(rm -rf /)",
    "A=1 rm -rf /",
    "sudo -u root -n A=1 rm -rf /",
    "env -i A=1 B=2 rm -rf /",
    "env -u HOME rm -rf /",
    "nohup rm -rf / &",
    "sudo env nohup rm -rf /",
    "sudo -- reboot",
    ":(){:|:&};:",
    ":(){ :|:& };:",
    "bomb() { bomb | bomb & }; bomb",
    "b ( )\n{\n  b|b &\n}\nb",
    "function f { f | f & }; f",
    "mkfs /dev/sda",
    "mkfs.ext4 x",
    "sudo mkfs.xfs -f /dev/sdb",
    "dd if=a of=/dev/sda",
    "dd of=/dev/sda if=a bs=1M",
    "shutdown",
    "shutdown -h now",
    "reboot",
    "halt",
    "poweroff -f",
    "/sbin/reboot",
    "cat <<EOF\nx\nEOF\nreboot",
    "echo 'a' # no\nhalt",
  ])("%j", (command) => {
    expect(isBlocked(command)).toBe(true);
  });
});

describe("a command passes that only speaks of such things:", () => {
  test.each([
    "",
    "rm -rf ./build",
    "rm -rf /workspace/old",
    "rm -rf /workspace/*",
    "rm -rf .",
    "rm -r /",
    "rm -f /",
    "rm /",
    "rm -i -- -rf /",
    'echo "rm -rf /" > note.txt',
    "echo 'rm -rf /'",
    "echo rm -rf /",
    'rm -rf "/"',
    '"rm" -rf /',
    "echo a \\; rm -rf /",
    "# rm -rf /",
    "echo a # ; reboot",
    "grep reboot log",
    "ls halt/",
    "./reboot",
    "reboot.sh",
    "node shutdown.js",
    "git commit -m 'halt; reboot'",
    "cat <<EOF\nrm -rf /\nreboot\nEOF",
    "cat <<-'EOF' > a\n\treboot\n\tEOF\necho done",
    "case $1 in\nhalt) echo no;;\nesac",
    "echo a > reboot",
    "echo a >& halt; cat < shutdown",
    "dd if=a of=b.img",
    "dd if=/dev/zero of=/tmp/a",
    'dd if=a "of=/dev/sda"',
    "mkfsx",
    "npm test",
    "f() { f2 | f2 & }; f",
    "f() { f | f; }; f",
    "f() { f | f & }",
    "echo ':(){:|:&};:'",
    'echo ":(){:|:&};:"',
    ["echo $", "{a}{b,c}"].join(""),
    "echo $((1 | 2))",
  ])("%j", (command) => {
    expect(isBlocked(command)).toBe(false);
  });
});

test("whatever the text, it is judged, and the same text in quotes passes", () => {
  const piece = fc.constantFrom(
    "rm",
    "-rf",
    "/",
    "'",
    '"',
    "\\",
    "$(",
    ")",
    "{",
    "}",
    ";",
    "&",
    "|",
    "\n",
    " ",
    "<<",
    "a",
    "#",
    ":",
    ":(){",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join("");
      isBlocked(text);
      expect(isBlocked(`echo '${text.replaceAll("'", "")}'`)).toBe(false);
    }),
  );
});

test("a long text is judged in proportion to its length", () => {
  for (const one of ["a ", "a(", ":(){:|:&", "'", '"\\', "<<a\n", "$(", "x|", "(  ", "sudo ", "env A=1 ", "  "]) {
    expect(isBlocked(one.repeat(120_000 / one.length))).toBe(false);
  }
});
