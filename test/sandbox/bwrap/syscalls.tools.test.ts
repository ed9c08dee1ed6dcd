import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "@jest/globals";
import { DEFAULT_SHELL } from "../../../src/core/ports/sandbox.js";
import { BwrapSandbox } from "../../../src/sandbox/bwrap/bwrap.js";
import { SYSCALLS, type SyscallTable } from "../../../src/sandbox/bwrap/seccomp.js";
import { needs } from "../../needs.js";
import { bwrapHere, OWNER, useShell } from "../ground.js";

const { possible, reason } = await bwrapHere();
const ground = useShell();
const table: Omit<SyscallTable, "audit"> = SYSCALLS[process.arch] ?? { denied: {}, socket: 0, socketpair: 0 };
const { ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT } = constants.errno;

/** A program of 32 bits that ends with status 7: an ELF header, a program header and `mov $1,%eax; mov $7,%ebx; int $0x80`. */
const EXIT_7 = elf32(Buffer.from("b801000000bb07000000cd80", "hex"));

/** Needs bubblewrap and a program of the system. */
const withProgram = (path: string) =>
  needs(possible && existsSync(path), possible ? `${path} is not installed` : reason);
const test = needs(possible, reason);
const perl = withProgram("/usr/bin/perl");
const gdb = withProgram("/usr/bin/gdb");
const strace = withProgram("/usr/bin/strace");

/** Makes calls in a sandbox. @returns of each its error number, 0 for none */
async function errnosOf(calls: readonly (readonly number[])[]): Promise<number[]> {
  const script = calls.map((call) => `$! = 0; print syscall(${call.join(", ")}) == -1 ? $!+0 : 0, "\\n";`).join(" ");
  const ran = await ground.sh("", { argv: ["/usr/bin/perl", "-e", script] });
  expect([ran.stderr, ran.exitCode]).toEqual(["", 0]);
  return ran.stdout.trim().split("\n").map(Number);
}

describe("a command", () => {
  perl("cannot make the calls that no namespace keeps in", async () => {
    const denied = Object.entries(table.denied);
    expect(denied.length).toBeGreaterThan(10);
    const errnos = await errnosOf(denied.map(([, number]) => [number, 0, 0, 0, 0, 0, 0]));
    expect(denied.map(([name], index) => [name, errnos[index]])).toEqual(denied.map(([name]) => [name, ENOSYS]));
  });

  perl("cannot make them in staged views either", async () => {
    ground.put("a/.venue-files-hidden");
    ground.put("a/in/file");
    const mounts = [
      { root: "r", prefix: "a", at: "/workspace" },
      { root: "r", prefix: "a/in", at: "/workspace/in" },
    ];
    const script = `print syscall(${table.denied["keyctl"]}, 0, -3, 0), " ", $!+0`;
    const { stdout } = await ground.sh("", { argv: ["/usr/bin/perl", "-e", script], mounts });
    expect(stdout).toBe(`-1 ${ENOSYS}`);
  });

  perl("has sockets of UNIX, IP and NETLINK_ROUTE, and of no other family", async () => {
    const [UNIX, INET, INET6, NETLINK, PACKET, ALG, VSOCK] = [1, 2, 10, 16, 17, 38, 40] as const;
    const [STREAM, RAW, SEQPACKET] = [1, 3, 5];
    const AUDIT = 9;
    const errnos = await errnosOf([
      [table.socket, UNIX, STREAM, 0],
      [table.socket, INET, STREAM, 0],
      [table.socket, INET6, STREAM, 0],
      [table.socket, NETLINK, RAW, 0],
      [table.socket, NETLINK, RAW, AUDIT],
      [table.socket, PACKET, RAW, 0],
      [table.socket, ALG, SEQPACKET, 0],
      [table.socket, VSOCK, STREAM, 0],
      [table.socketpair, VSOCK, STREAM, 0, 0],
    ]);
    expect(errnos.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(errnos.slice(4)).toEqual([EPROTONOSUPPORT, ...Array<number>(4).fill(EAFNOSUPPORT)]);
  });

  test("is not told of keys of this machine", async () => {
    expect((await ground.sh("cat /proc/keys /proc/key-users 2>/dev/null; echo end")).stdout).toBe("end\n");
  });

  needs(possible && process.arch === "x64" && runs32Bit(), "32-bit programs do not run on this machine")(
    "cannot call as a 32-bit program",
    async () => {
      writeFileSync(join(ground.dir, "exit7"), EXIT_7);
      chmodSync(join(ground.dir, "exit7"), 0o755);
      expect(await ground.sh("exec ./exit7")).toMatchObject({ exitCode: null, signal: "SIGSYS" });
    },
  );

  gdb("is debugged by gdb", async () => {
    const debug = "gdb -q -batch -ex 'break exit' -ex run -ex 'print 6 * 7' -ex kill --args /bin/true 2>&1";
    const { stdout } = await ground.sh(`export DEBUGINFOD_URLS=; ${debug}`);
    expect(stdout).toContain("Breakpoint 1, ");
    expect(stdout).toContain("$1 = 42");
  });

  strace("is traced by strace", async () => {
    const { stdout, exitCode } = await ground.sh(
      "strace -f -o trace sh -c 'echo on; exit 3'; code=$?; cat trace; exit $code",
    );
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/write\(1, "on\\n", 3\)\s+= 3/);
    expect(stdout).toContain("+++ exited with 3 +++");
  });

  const outside = async (look: (pid: number) => Promise<void>) => {
    const other = spawn("sleep", ["79.25"], process.getuid?.() === 0 ? { uid: OWNER, gid: OWNER } : {});
    await once(other, "spawn");
    try {
      await look(other.pid ?? 0);
    } finally {
      other.kill("SIGKILL");
    }
  };

  strace("does not trace a process outside", async () => {
    await outside(async (pid) => {
      const { stderr, exitCode } = await ground.sh(`strace -p ${pid}`);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining("No such process")]);
    });
  });

  gdb("does not debug a process outside", async () => {
    await outside(async (pid) => {
      const { stdout } = await ground.sh(`export DEBUGINFOD_URLS=; gdb -q -batch -p ${pid} 2>&1`);
      expect(stdout).toContain("No such process");
      expect(stdout).not.toContain("attached");
    });
  });
});

describe("on an architecture without a filter", () => {
  test("there is no sandbox, and the operator is told why", async () => {
    const failures: string[] = [];
    const clock = { nowMs: Date.now, monotonicMs: () => performance.now() };
    const host = { clock, onFailure: (text: string) => void failures.push(text) };
    const sandbox = new BwrapSandbox({ ...DEFAULT_SHELL, driver: "bwrap" }, host, "riscv64");
    const probe = await sandbox.probe();
    expect(probe).toMatchObject({ available: false, reason: "there is no system call filter for riscv64" });
    await expect(ground.sh("true", { sandbox })).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  });
});

function elf32(code: Buffer): Buffer {
  const [base, headers] = [0x08048000, 52 + 32];
  const out = Buffer.alloc(headers);
  out.write("\x7fELF\x01\x01\x01", "latin1");
  for (const [at, value] of [
    [16, 2],
    [18, 3],
    [40, 52],
    [42, 32],
    [44, 1],
  ] as const)
    out.writeUInt16LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [24, base + headers],
    [28, 52],
  ] as const)
    out.writeUInt32LE(value, at);
  const size = headers + code.length;
  for (const [index, value] of [1, 0, base, base, size, size, 5, 0x1000].entries()) {
    out.writeUInt32LE(value, 52 + 4 * index);
  }
  return Buffer.concat([out, code]);
}

function runs32Bit(): boolean {
  const directory = mkdtempSync(join(tmpdir(), "venue-files-elf32-"));
  try {
    writeFileSync(join(directory, "exit7"), EXIT_7, { mode: 0o755 });
    return spawnSync(join(directory, "exit7")).status === 7;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
