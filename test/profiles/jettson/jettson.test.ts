import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { assembleAdapter } from "../../../src/adapter/adapter.js";
import type { AuditRecord } from "../../../src/audit/record.js";
import { parseFileConfig } from "../../../src/config/load.js";
import {
  createFileAdapter,
  createProfile,
  type FileAdapter,
  type InvokeContext,
  mintUcan,
  newSeed,
  signingKeyFromSeed,
  type ToolProfile,
} from "../../../src/index.js";
import { openProfile } from "../../../src/profiles/create-profile.js";
import { isBlocked } from "../../../src/profiles/jettson/blocklist.js";
import { KINDS, type Kind, useBed } from "../everruns/bed.js";

const rejected = (text: string) => ({ error: `Jettson Files rejected the operation: ${text}` });

const MB = 1_048_576;
const ESCAPES = rejected("path escapes /workspace or is empty.");

const useJettson = (options: { kind?: Kind; prefix?: string; root?: object } = {}) => {
  const { prefix, ...others } = options;
  const bed = useBed({ ...others, binding: { profile: "jettson", ...(prefix === undefined ? {} : { prefix }) } });
  const call = (tool: string, args: object = {}) => bed.call(`jettson_files_${tool}`, args);
  return { bed, call };
};

describe.each(KINDS)("on a %s root", (kind) => {
  const { call } = useJettson({ kind, prefix: "sessions/1" });

  test("a workspace that is not there is empty, and the first write makes it", async () => {
    expect(await call("list")).toEqual({ path: ".", entries: [] });
    expect(await call("read", { path: "a" })).toEqual(rejected("no such file: a"));
    expect(await call("delete", { path: "a" })).toEqual(rejected("no such file: a"));
    expect(await call("write", { path: "a", content: "" })).toEqual({ path: "a", bytes_written: 0 });
    expect(await call("delete", { path: "a" })).toEqual({ path: "a", deleted: true });
  });

  test("what was written is read, listed and deleted, under its normalised path", async () => {
    expect(await call("write", { path: "a//./b.txt", content: "é\n" })).toEqual({ path: "a/b.txt", bytes_written: 3 });
    expect(await call("read", { path: "/workspace/a/b.txt" })).toEqual({
      ...{ path: "a/b.txt", content: "é\n", size_bytes: 3, truncated: false },
    });
    expect(await call("write", { path: "./a/b.txt", content: "new" })).toEqual({ path: "a/b.txt", bytes_written: 3 });
    expect(await call("read", { path: "a/b.txt" })).toMatchObject({ content: "new" });
    const inside = { path: "a", entries: [{ name: "b.txt", size_bytes: 3, is_dir: false }] };
    expect(await call("list", { path: "a/" })).toEqual(inside);
    expect(await call("delete", { path: "a/b.txt" })).toEqual({ path: "a/b.txt", deleted: true });
    expect(await call("read", { path: "a/b.txt" })).toEqual(rejected("no such file: a/b.txt"));
  });

  test("a list is in the order of code units, dotfiles in it, directories without a size", async () => {
    for (const name of ["b", "B", ".a", "a", "\u{1f600}", "\uff5e", "d/x"]) {
      await call("write", { path: `l/${name}`, content: "12" });
    }
    const { entries } = await call("list", { path: "l" });
    expect(entries).toEqual(
      [".a", "B", "a", "b", "d", "\u{1f600}", "\uff5e"].map((name) => ({
        ...{ name, size_bytes: name === "d" ? 0 : 2, is_dir: name === "d" },
      })),
    );
  });

  test("directories are not read, written or deleted, and files are not listed", async () => {
    await call("write", { path: "d/f", content: "x" });
    expect(await call("read", { path: "d" })).toEqual(rejected("d is a directory"));
    expect(await call("write", { path: "d", content: "" })).toEqual(rejected("d is a directory"));
    expect(await call("list", { path: "d/f" })).toEqual(rejected("d/f is not a directory"));
    expect(await call("list", { path: "nowhere" })).toEqual(rejected("no such file: nowhere"));
    expect(await call("write", { path: "d/f/g", content: "" })).toEqual(rejected("d/f is not a directory"));
    const refusal = rejected("d is a directory — use Jettson Shell with rmdir for that.");
    expect(await call("delete", { path: "d" })).toEqual(refusal);
    await call("delete", { path: "d/f" });
    expect(await call("delete", { path: "d" })).toEqual(refusal);
  });

  test("exactly 5 MB are written, one byte more is refused and the old file stays", async () => {
    const most = `${"é".repeat((5 * MB) / 2)}`;
    expect(await call("write", { path: "big", content: most })).toEqual({ path: "big", bytes_written: 5 * MB });
    expect(await call("write", { path: "big", content: `${most}x` })).toEqual(
      rejected("content exceeds the 5 MB limit"),
    );
    expect(await call("read", { path: "big" })).toMatchObject({ size_bytes: 5 * MB, truncated: true });
  });

  test("of a file over 1 MB the first 1 MB is read, cut where a character ends", async () => {
    await call("write", { path: "one", content: "x".repeat(MB) });
    expect(await call("read", { path: "one" })).toMatchObject({ size_bytes: MB, truncated: false });
    for (const [lead, kept] of [
      ["", MB],
      ["1", MB - 3],
      ["12", MB - 2],
      ["123", MB - 1],
    ] as const) {
      const content = `${lead}${"\u{1f600}".repeat(MB / 4)}tail`;
      await call("write", { path: "cut", content });
      const read = await call("read", { path: "cut" });
      expect(read).toMatchObject({ size_bytes: Buffer.byteLength(content), truncated: true });
      expect(Buffer.byteLength(String(read["content"]))).toBe(kept);
      expect(content.startsWith(String(read["content"]))).toBe(true);
    }
  });

  test.each<[string, object, string]>([
    ["read", {}, "'path' is required"],
    ["read", { path: 5 }, "'path' must be a string"],
    ["read", { path: "a", encoding: "x" }, "Unknown field 'encoding'. Known fields: path"],
    ["write", { path: "a" }, "'content' is required"],
    ["write", { path: "a", content: 5 }, "'content' must be a string"],
    ["write", { path: "a", content: "\ud800" }, "'content' is not well-formed Unicode"],
    ["list", { path: null }, "'path' must be a string"],
    ["delete", { path: "a", recursive: true }, "Unknown field 'recursive'. Known fields: path"],
  ])("%s %j is refused: %s", async (tool, args, what) => {
    expect(await call(tool, args)).toEqual(rejected(`invalid argument: ${what}`));
  });
});

describe("paths", () => {
  const { bed, call } = useJettson();
  const calls: readonly [string, object][] = [
    ["read", {}],
    ["write", { content: "x" }],
    ["list", {}],
    ["delete", {}],
  ];

  test.each([
    ...["", " ", "\t\n", "/", "//", "/tmp/foo", "/etc/passwd", "/workspacefoo", "/workspacefoo/a", "/Workspace/a"],
    ...["../etc/passwd", "a/../b", "a/..", "..", "/workspace/../x", "/workspace/..", "../workspace/a", "./../a"],
    ...["a\0b", "C:\\x", "C:/x", "c:", "\\\\host\\x", "//host/x", "//workspace/x", "a\\b", "a\nb"],
    ...["x".repeat(300), ".venue-files/x", ".venue-files", "/workspace/.venue-files/a"],
  ])("%j is refused by every tool, before anything is looked at", async (path) => {
    mkdirSync(join(bed.dir, "a"), { recursive: true });
    for (const [tool, more] of calls) expect([tool, await call(tool, { path, ...more })]).toEqual([tool, ESCAPES]);
    expect(readdirSync(bed.outside)).toEqual([]);
  });

  test.each([".", "./", "/workspace", "/workspace/", "././."])(
    "%j is the workspace, which is only listed",
    async (path) => {
      for (const [tool, more] of calls) {
        const expected = tool === "list" ? { path: "." } : ESCAPES;
        expect(await call(tool, { path, ...more })).toMatchObject(expected);
      }
    },
  );

  test.each([
    ["./x", "x"],
    ["x//y", "x/y"],
    ["/workspace/x", "x"],
    ["/workspace//x/./y/", "x/y"],
    ["workspace/x", "workspace/x"],
    ["..a/b..", "..a/b.."],
    [" x ", " x "],
    ["~/$HOME", "~/$HOME"],
  ])("%j is %j", async (path, shown) => {
    await call("delete", { path: "x" });
    execFileSync("rm", ["-rf", join(bed.dir, "x")]);
    expect(await call("write", { path, content: "1" })).toEqual({ path: shown, bytes_written: 1 });
    expect(await call("read", { path: shown })).toMatchObject({ content: "1" });
  });
});

describe.each([undefined, "s/1"])("links, with the prefix %j", (prefix) => {
  const { bed, call } = useJettson(prefix === undefined ? {} : { prefix });
  const link = (target: string, name: string) => {
    mkdirSync(bed.dir, { recursive: true });
    symlinkSync(target, join(bed.dir, name));
  };

  test("that lead out or nowhere are refused by every tool, in every component, and are not listed", async () => {
    writeFileSync(join(bed.outside, "secret"), "secret");
    bed.put("sub/f", "");
    link(join(bed.outside, "secret"), "evil");
    link(bed.outside, "out");
    link("../".repeat(10), "up");
    link("nowhere", "dangling");
    link("loop", "loop");
    link("sub/f/", "through");
    for (const path of ["evil", "out/secret", "out/new", "out", "up/etc/passwd", "dangling", "dangling/x", "loop"]) {
      for (const [tool, more] of Object.entries({ read: {}, write: { content: "x" }, list: {}, delete: {} })) {
        expect([tool, path, await call(tool, { path, ...more })]).toEqual([tool, path, ESCAPES]);
      }
    }
    const { entries } = await call("list");
    expect(entries).toEqual([{ name: "sub", size_bytes: 0, is_dir: true }]);
    expect(readdirSync(bed.outside)).toEqual(["secret"]);
    expect(readdirSync(bed.dir).sort()).toEqual(["dangling", "evil", "loop", "out", "sub", "through", "up"]);
  });

  test("that stay inside are followed, listed as what they lead to, and deleted themselves", async () => {
    bed.put("t/file", "abc");
    link("t/file", "to-file");
    link("t", "to-dir");
    link(join(bed.dir, "t/file"), "absolute");
    const { entries } = await call("list");
    expect(entries).toEqual(
      expect.arrayContaining([
        { name: "to-file", size_bytes: 3, is_dir: false },
        { name: "to-dir", size_bytes: 0, is_dir: true },
        { name: "absolute", size_bytes: 3, is_dir: false },
      ]),
    );
    expect(await call("read", { path: "to-dir/file" })).toMatchObject({ content: "abc" });
    expect(await call("write", { path: "to-file", content: "new" })).toMatchObject({ bytes_written: 3 });
    for (const name of ["to-file", "to-dir", "absolute"]) {
      expect(await call("delete", { path: name })).toEqual({ path: name, deleted: true });
    }
    expect(bed.get("t/file")).toBe("new");
  });
});

describe("a prefix", () => {
  const { bed, call } = useJettson({ prefix: "mine" });

  test("is left by no link, not even by one that comes back, nor may it be one", async () => {
    mkdirSync(join(bed.dir, "../other"), { recursive: true });
    writeFileSync(join(bed.dir, "../other/f"), "theirs");
    bed.put("f", "mine");
    for (const [name, target] of Object.entries({
      ...{ relative: "../other/f", absolute: join(bed.dir, "../other/f"), directory: "../other" },
      ...{ back: "../other/../mine/f", top: "..", around: "../mine/f" },
    })) {
      symlinkSync(target, join(bed.dir, name));
    }
    for (const path of ["relative", "absolute", "directory/f", "back", "top/other/f", "around"]) {
      expect([path, await call("read", { path })]).toEqual([path, ESCAPES]);
      expect([path, await call("write", { path, content: "x" })]).toEqual([path, ESCAPES]);
    }
    expect((await call("list"))["entries"]).toEqual([{ name: "f", size_bytes: 4, is_dir: false }]);
    execFileSync("mv", [bed.dir, `${bed.dir}.old`]);
    symlinkSync("other", bed.dir);
    expect(await call("read", { path: "f" })).toEqual(ESCAPES);
    expect(await call("list")).toEqual(ESCAPES);
  });
});

describe("content", () => {
  const { bed, call } = useJettson();

  test("is text or not read", async () => {
    const lead = "x".repeat(MB);
    for (const [name, bytes] of Object.entries({
      nul: "a\0b",
      "late-nul": `${"x".repeat(8191)}\0`,
      broken: Buffer.from([0x61, 0xff, 0x62]),
      torn: Buffer.from([0x61, 0xe2, 0x82]),
      utf16: Buffer.from("\ufeffab", "utf16le"),
      "broken-at-its-end": Buffer.concat([Buffer.from("x".repeat(MB - 1)), Buffer.from([0xff])]),
      "broken-early": Buffer.concat([Buffer.from([0xff]), Buffer.from(lead)]),
    })) {
      bed.put(name, bytes);
      expect(await call("read", { path: name })).toEqual(rejected(`${name} is not UTF-8 text`));
    }
    const read: [string, string | Buffer, string][] = [
      ["bom", "\ufeffa\r\nb\r", "\ufeffa\r\nb\r"],
      ["empty", "", ""],
      ["nul-behind", `${"x".repeat(8192)}\0`, `${"x".repeat(8192)}\0`],
      // What is not read is not judged.
      ["broken-late", Buffer.concat([Buffer.from(lead), Buffer.from([0xff])]), lead],
    ];
    for (const [name, bytes, content] of read) {
      bed.put(name, bytes);
      expect(await call("read", { path: name })).toMatchObject({ content, size_bytes: Buffer.byteLength(bytes) });
    }
  });

  test("of a pipe is none, and nobody waits for it", async () => {
    execFileSync("mkfifo", [join(bed.dir, "pipe")]);
    expect(await call("read", { path: "pipe" })).toEqual(rejected("pipe is not UTF-8 text"));
    expect((await call("list"))["entries"]).toContainEqual({ name: "pipe", size_bytes: 0, is_dir: false });
  });

  test("keeps the permission bits of the file that it replaces", async () => {
    bed.put("run.sh", "old");
    chmodSync(join(bed.dir, "run.sh"), 0o751);
    await call("write", { path: "run.sh", content: "new" });
    expect(statSync(join(bed.dir, "run.sh")).mode & 0o777).toBe(0o751);
  });

  test("of more than 10,000 entries the first are listed, and it says so", async () => {
    mkdirSync(join(bed.dir, "many"));
    for (let index = 0; index < 10_001; index++) writeFileSync(join(bed.dir, "many", `f${10_000 + index}`), "");
    const { entries, truncated } = await call("list", { path: "many" });
    expect([(entries as unknown[]).length, truncated]).toEqual([10_000, true]);
    execFileSync("rm", [join(bed.dir, "many/f15000")]);
    expect(await call("list", { path: "many" })).not.toHaveProperty("truncated");
  });
});

describe("what the operator says of the root holds:", () => {
  describe("read-only", () => {
    const { bed, call } = useJettson({ root: { readOnly: true } });
    test("it is read, and nothing is changed", async () => {
      bed.put("f", "x");
      expect(await call("read", { path: "f" })).toMatchObject({ content: "x" });
      for (const path of ["f", "new"]) {
        expect(await call("write", { path, content: "" })).toEqual(rejected("root is read-only"));
        expect(await call("delete", { path })).toEqual(rejected("root is read-only"));
      }
    });
  });

  describe("deny patterns, a quota, and a limit of its own", () => {
    const { bed, call } = useJettson({
      root: { deny: [".env"], quota: { bytes: 100 }, maxReadBytes: 4, encoding: "latin1" },
    });
    test("what is denied is not there", async () => {
      bed.put(".env", "KEY");
      for (const [tool, more] of Object.entries({ read: {}, write: { content: "" }, delete: {} })) {
        expect(await call(tool, { path: ".env", ...more })).toEqual(rejected(".env is denied by policy"));
      }
      expect((await call("list"))["entries"]).toEqual([]);
    });
    test("what has no room is refused", async () => {
      expect(await call("write", { path: "big", content: "x".repeat(101) })).toEqual(rejected("quota exceeded"));
    });
    test("a tighter limit of the root cuts too, and text is UTF-8 whatever the root says", async () => {
      bed.put("f", "abcé");
      expect(await call("read", { path: "f" })).toEqual({ path: "f", content: "abc", size_bytes: 5, truncated: true });
      bed.put("latin", Buffer.from([0x61, 0xe9]));
      expect(await call("read", { path: "latin" })).toEqual(rejected("latin is not UTF-8 text"));
    });
  });
});

describe("on a root with another encoding", () => {
  const { bed, call } = useJettson({ root: { encoding: "latin1" } });

  test("text is UTF-8 all the same", async () => {
    expect(await call("write", { path: "a", content: "é日" })).toEqual({ path: "a", bytes_written: 5 });
    expect(await call("read", { path: "a" })).toMatchObject({ content: "é日" });
    expect(bed.get("a")).toBe("é日");
  });
});

const calls: readonly [string, object, string][] = [
  ["read", {}, "crud/read"],
  ["list", {}, "crud/read"],
  ["write", { content: "x" }, "crud/write"],
  ["delete", {}, "crud/delete"],
];

async function open() {
  const audit: AuditRecord[] = [];
  const adapter = await assembleAdapter(parseFileConfig({ roots: { r: { temp: true } } }, { baseDir: "/" }), {
    discloseHostPaths: false,
    audit: { write: (record) => void audit.push(record), close: async () => {} },
  });
  const jettson = openProfile(adapter, { profile: "jettson", root: "r", prefix: "s" }, { name: "mine" });
  await jettson.call("jettson_files_write", { path: "there/f", content: "1" });
  audit.length = 0;
  return { adapter, audit, jettson };
}

describe("rights", () => {
  test("a denial is the same whether the file is there, and names what is needed of the root itself", async () => {
    const { adapter, jettson } = await open();
    try {
      for (const path of ["there/f", "there", "nowhere", "nowhere/f"]) {
        for (const [tool, more, can] of calls) {
          const answer = await jettson.call(`jettson_files_${tool}`, { path, ...more }, { caps: [] });
          expect(answer).toEqual(rejected(`permission denied: requires ${can} on file://r/…/${path}`));
        }
      }
    } finally {
      await adapter.close();
    }
  });

  test("what caps give is what can be done", async () => {
    const { adapter, jettson } = await open();
    try {
      const caps = [{ with: "file://r/s/there/", can: "crud/read" }];
      const call = (tool: string, args: object) => jettson.call(`jettson_files_${tool}`, args, { caps });
      expect(await call("read", { path: "there/f" })).toMatchObject({ content: "1" });
      expect(await call("list", { path: "there" })).toMatchObject({ path: "there" });
      expect(await call("list", {})).toEqual(rejected("permission denied: requires crud/read on file://r/…"));
      expect(await call("write", { path: "there/f", content: "" })).toEqual(
        rejected("permission denied: requires crud/write on file://r/…/there/f"),
      );
    } finally {
      await adapter.close();
    }
  });

  test("a UCAN gives its bearer what it says, on the real paths of the root", async () => {
    const [owner, bearer] = [signingKeyFromSeed(newSeed()), signingKeyFromSeed(newSeed())];
    const adapter = await createFileAdapter({ roots: { r: { temp: true, owner: owner.did } } });
    try {
      const jettson = createProfile(adapter, { profile: "jettson", root: "r", prefix: "s" });
      await jettson.call("jettson_files_write", { path: "f", content: "1" });
      const capabilities = [{ with: "file://r/s/", can: "crud/read" }];
      const { token } = await mintUcan({ key: owner, audience: bearer.did, capabilities });
      const context = { callerDID: bearer.did, ucans: [token] };
      expect(await jettson.call("jettson_files_read", { path: "f" }, { callerDID: bearer.did })).toHaveProperty(
        "error",
      );
      expect(await jettson.call("jettson_files_read", { path: "f" }, context)).toMatchObject({ content: "1" });
      expect(await jettson.call("jettson_files_delete", { path: "f" }, context)).toHaveProperty("error");
    } finally {
      await adapter.close();
    }
  });
});

describe("the audit", () => {
  test("has a record of every call: of what was done, by which tool, or of what was refused before that", async () => {
    const { adapter, audit, jettson } = await open();
    try {
      await jettson.call("jettson_files_read", { path: "there/f" }, { callerDID: "did:web:a.example" });
      await jettson.call("jettson_files_read", { path: "there/f" });
      await jettson.call("jettson_files_read", { path: "../f" });
      await jettson.call("jettson_files_read", {});
      const tool = "mine:jettson_files_read";
      expect(audit.map(({ time, ms, via, ...record }) => record)).toEqual([
        {
          ...{ caller: "did:web:a.example", operation: "file:read", tool, resource: "file://r/s/there/f" },
          ...{ outcome: "CAPABILITY_DENIED", bytes: 0 },
          denied: { required: { with: "file://r/s/there/f", can: "crud/read" }, have: [] },
        },
        { caller: "operator", operation: "file:read", tool, resource: "file://r/s/there/f", outcome: "OK", bytes: 1 },
        { caller: "operator", operation: tool, resource: "file://r/", outcome: "PATH_ESCAPES_ROOT", bytes: 0 },
        { caller: "operator", operation: tool, resource: "file://r/", outcome: "INVALID_INPUT", bytes: 0 },
      ]);
    } finally {
      await adapter.close();
    }
  });
});

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
    "if true; then rm -rf /; fi",
    "if reboot; then :; fi",
    "if false; then :; elif halt; then :; else poweroff; fi",
    "if false; then :; else rm -rf /*; fi",
    "for i in 1 2; do rm -rf /; done",
    "while rm -rf /; do :; done",
    "until mkfs.ext4 x; do :; done",
    "! rm -rf /",
    "time rm -rf /",
    "time -p rm -rf /",
    "/usr/bin/time -f %e -o log reboot",
    "exec rm -rf /",
    "exec -a name rm -rf /",
    "exec -c reboot",
    "command rm -rf /",
    "command -p rm -rf /",
    "command -- halt",
    "if ! time exec command sudo env A=1 nohup rm -rf /; then :; fi",
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
    "echo then rm -rf /",
    "echo do reboot; echo ! halt",
    "'then' rm -rf /",
    "command -v reboot",
    "command -V rm -rf /",
    "command -pv halt",
    "time ls halt/",
    "exec node shutdown.js",
    "for i in rm -rf /; do echo $i; done",
    "if test -f reboot; then echo halt; fi",
    "do_reboot",
    "thenrm -rf /",
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
  for (const one of [
    "a ",
    "a(",
    ":(){:|:&",
    "'",
    '"\\',
    "<<a\n",
    "$(",
    "x|",
    "(  ",
    "sudo ",
    "env A=1 ",
    "  ",
    "then ",
    "! ",
    "time -p ",
    "exec ",
    "command ",
  ]) {
    expect(isBlocked(one.repeat(120_000 / one.length))).toBe(false);
  }
});

const COUNT = 60;
/** Large enough that a write takes several system calls. */
const LENGTH = 70_000;

describe.each(["host", "drive"] as const)("readers among writers on a %s root", (kind) => {
  const bed = useBed({ kind, binding: { profile: "jettson" } });

  test(`${COUNT} of each see whole contents only, and nothing temporary`, async () => {
    const contents = Array.from({ length: COUNT }, (_, index) =>
      String.fromCharCode(0x4e00 + index).repeat(LENGTH / 3),
    );
    const whole = new Set(contents);
    await bed.call("jettson_files_write", { path: "d/f", content: contents[0] });
    const seen = new Set<string>();
    const read = async () => {
      const { content, size_bytes } = await bed.call("jettson_files_read", { path: "d/f" });
      expect([whole.has(String(content)), size_bytes]).toEqual([true, Math.floor(LENGTH / 3) * 3]);
      seen.add(String(content));
    };
    const list = async () => {
      const { entries } = await bed.call("jettson_files_list", { path: "d" });
      expect((entries as { name: string }[]).map(({ name }) => name)).toEqual(["f"]);
    };
    const write = (content: string) => bed.call("jettson_files_write", { path: "d/f", content });
    await Promise.all(
      contents.flatMap((content, index) => [write(content), read(), ...(index % 20 === 0 ? [list()] : [])]),
    );
    await read();
    expect(seen.size).toBeGreaterThan(0);
    if (kind === "host") expect(readdirSync(join(bed.dir, "d"))).toEqual(["f"]);
  });
});

const OWNER = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
const ROOTS = { temp: { temp: true }, drive: { dlfs: "notes" } } as const;

describe.each(["temp", "drive"] as const)("jettson_shell_run by just-bash on a %s root", (kind) => {
  let files: FileAdapter | undefined;
  let jettson: ToolProfile | undefined;
  const context: InvokeContext = kind === "drive" ? { callerDID: OWNER, authentication: "identity" } : {};
  const call = async (tool: string, args: object) => ({ ...(await jettson?.call(`jettson_${tool}`, args, context)) });
  const sh = (command: string, more: object = {}) => call("shell_run", { command, ...more });
  beforeAll(async () => {
    files = await createFileAdapter({ roots: { r: ROOTS[kind] } });
    const binding = { profile: "jettson", root: "r", prefix: "ws", shell: { driver: "just-bash" } } as const;
    jettson = createProfile(files, binding);
    await jettson.ready;
  });
  afterAll(() => files?.close());

  test("shares its files with the tools, which is all that it sees", async () => {
    await call("files_write", { path: "a.csv", content: "id\n2\n1\n" });
    expect(await sh("sort a.csv | head -2 > b.csv && cat b.csv; pwd; exit 3")).toEqual({
      ...{ stdout: "1\n2\n/workspace\n", stderr: "", exit_code: 3, truncated: false, timed_out: false },
    });
    expect(await call("files_read", { path: "b.csv" })).toMatchObject({ content: "1\n2\n" });
    expect(await sh("cat /etc/passwd")).toMatchObject({ stdout: "", exit_code: 1 });
  });

  test("is ended in time", async () => {
    expect(await sh("sleep 30", { timeout_seconds: 0.5 })).toMatchObject({
      exit_code: 124,
      timed_out: true,
    });
  });

  test("says that it has no programs", () => {
    const tool = jettson?.tools.find(({ name }) => name === "jettson_shell_run");
    expect(tool?.description).toContain("no python3, node, npm, git, curl");
  });
});
