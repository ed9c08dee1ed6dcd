import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, test as anywhere, beforeEach, describe, expect } from "@jest/globals";
import { DEFAULT_SHELL, type ShellConfig } from "../../../src/core/ports/sandbox.js";
import { BwrapSandbox } from "../../../src/sandbox/bwrap/bwrap.js";
import { groupDirectory } from "../../../src/sandbox/bwrap/control-group.js";
import { resolverFile } from "../../../src/sandbox/bwrap/resolver.js";
import { SYSCALLS, type SyscallTable } from "../../../src/sandbox/bwrap/seccomp.js";
import { networkArguments, networkRefusal, networkTools } from "../../../src/sandbox/bwrap/user-network.js";
import { CLI, cleanUp, makeFolder } from "../../cli/process.js";
import { describeWhere, needs } from "../../needs.js";
import { until } from "../../until.js";
import { bwrapHere, ENV, isRoot, OWNER, processesWith, useShell } from "../ground.js";
import { noMachine, runInMachine, serveInMachine } from "./network.js";

afterAll(cleanUp);
const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);

describe("a command in bubblewrap", () => {
  const ground = useShell({ shell: { scratchBytes: 1_048_576 } });

  test("runs in the root, and its files are there at once", async () => {
    ground.put("a/b", "content");
    const ran = await ground.sh("cat a/b && pwd && echo made > c && echo oops >&2 && exit 3");
    expect(ran).toEqual({
      ...{ stdout: "content/workspace\n", stderr: "oops\n", exitCode: 3, signal: null },
      ...{ timedOut: false, truncated: false },
    });
    expect(await ground.adapter.invoke("file:read", { root: "r", path: "c" })).toMatchObject({ content: "made\n" });
    expect(ground.internal).toEqual([]);
  });

  test("has only the environment that it is given, and what is around it has none", async () => {
    const argv = ["/bin/sh", "-c", "tr '\\0' '\\n' < /proc/1/environ; exec env -u PWD"];
    const { stdout } = await ground.sh("", { argv });
    expect(stdout.trim().split("\n").sort()).toEqual([
      ...["HOME=/workspace", "LANG=C.UTF-8"],
      expect.stringMatching(/^PATH=\/usr\/local\/sbin:/),
    ]);
  });

  test("is given nothing but its output to hold", async () => {
    ground.put("a/.venue-files-hidden");
    for (const prefix of ["", "a"]) {
      const mounts = [{ root: "r", prefix, at: "/workspace" }];
      const { stdout } = await ground.sh("for fd in /proc/$$/fd/*; do readlink $fd; done", { mounts });
      const held = stdout.trim().split("\n");
      // In the place of what whoever started this process left open there is nothing.
      const isPipe = (target: string) => /venue-files-pipes-\w+\/\d \(deleted\)$/.test(target);
      expect(new Set(held.filter((target) => !isPipe(target)))).toEqual(new Set(["/dev/null"]));
      expect(held.filter(isPipe)).toHaveLength(2);
    }
  });

  test("writes to its output by path, and more than once", async () => {
    const command =
      "echo a > /dev/stdout; echo b > /dev/stderr; echo c | tee /dev/stderr; echo d >> /dev/stdout; echo e";
    for (let round = 0; round < 6; round++) {
      expect(await ground.sh(command)).toMatchObject({ stdout: "a\nc\nd\ne\n", stderr: "b\nc\n", exitCode: 0 });
    }
  });

  test("holds none of this process's descriptors open when it has ended", async () => {
    await ground.sh("true");
    const open = () => readdirSync("/proc/self/fd").length;
    const before = open();
    for (let round = 0; round < 12; round++) await ground.sh("echo a; echo b >&2");
    // Pipes are made eight at a time.
    expect(open()).toBeLessThanOrEqual(before + 8);
  });

  test("has no input", async () => {
    expect(await ground.sh("cat; read line; echo $?")).toMatchObject({ stdout: "1\n", exitCode: 0 });
  });

  test.each([
    ["a program that is not there", ["no-such-program"], { exitCode: 127, signal: null }],
    ["a file that is no program", ["/workspace"], { exitCode: 126, signal: null }],
    ["an exit code", ["sh", "-c", "exit 7"], { exitCode: 7, signal: null }],
    ["a signal", ["sh", "-c", "kill -9 $$"], { exitCode: null, signal: "SIGKILL" }],
    ["another signal", ["sh", "-c", "kill -TERM $$"], { exitCode: null, signal: "SIGTERM" }],
  ])("ends with %s", async (_what, argv, end) => {
    expect(await ground.sh("", { argv })).toMatchObject(end);
  });

  test("sees nothing of the host but its system", async () => {
    writeFileSync(join(ground.outside, "file"), "secret");
    const { stdout } = await ground.sh("cd /; ls -A; echo; ls -A etc home root var srv 2>/dev/null; cat etc/shadow");
    const [top = "", rest = ""] = stdout.split("\n\n");
    for (const name of top.split("\n")) {
      expect(["bin", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "tmp", "usr", "workspace"]).toContain(name);
    }
    for (const name of rest.trim().split("\n").slice(1)) {
      expect([
        "alternatives",
        "ca-certificates",
        "group",
        "passwd",
        "ld.so.cache",
        "ld.so.conf",
        "ld.so.conf.d",
        "ssl",
        "pki",
      ]).toContain(name);
    }
    expect(await ground.sh(`cat ${ground.outside}/file`)).toMatchObject({ stdout: "", exitCode: 1 });
  });

  test("finds that a link to a host file leads nowhere, and file tools refuse one that it makes", async () => {
    writeFileSync(join(ground.outside, "file"), "secret");
    symlinkSync(join(ground.outside, "file"), join(ground.dir, "link"));
    expect(await ground.sh(`cat link; ln -s ${ground.outside}/file made`)).toMatchObject({ stdout: "", exitCode: 0 });
    for (const path of ["link", "made"]) {
      await expect(ground.adapter.invoke("file:read", { root: "r", path })).rejects.toMatchObject({
        code: "SYMLINK_ESCAPE",
      });
    }
  });

  test("sees no process but its own", async () => {
    const { stdout } = await ground.sh(
      `ls /proc | grep -c '^[0-9]'; kill -0 ${process.pid} 2>&1 | grep -c 'No such process'`,
    );
    const [count, refused] = stdout.trim().split("\n").map(Number);
    expect(count).toBeLessThanOrEqual(6);
    expect(refused).toBe(1);
  });

  test("writes only in the root and in its scratch, which is small", async () => {
    const places = ["/x", "/etc/x", "/usr/x", "/usr/bin/x", "/dev/x", "/bin/x", "/proc/x"];
    const writes = places.map((place) => `(: > ${place}) 2>/dev/null && echo ${place}`).join("; ");
    const { stdout } = await ground.sh(
      `${writes}; for d in /workspace /tmp /dev/shm; do : > $d/x && echo $d; done; head -c 2000000 /dev/zero > /tmp/large || echo full`,
    );
    expect(stdout).toBe("/workspace\n/tmp\n/dev/shm\nfull\n");
  });

  test("knows who it is, and where its home is", async () => {
    const python =
      "import getpass, os, pwd, grp; print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir, grp.getgrgid(os.getgid()).gr_name)";
    const { stdout, exitCode } = await ground.sh(
      `whoami; id -gn; getent passwd 65534; [ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c '${python}'; echo >> /etc/passwd`,
    );
    const lines = stdout.trim().split("\n");
    expect(lines.slice(0, 3)).toEqual(["nobody", "nogroup", "nobody:x:65534:65534:nobody:/workspace:/bin/sh"]);
    expect(lines.slice(3)).toEqual(existsSync("/usr/bin/python3") ? ["nobody /workspace nogroup"] : []);
    expect(exitCode).not.toBe(0);
    const odd = await ground.sh("getent passwd 65534; wc -l < /etc/passwd", {
      env: { ...ENV, HOME: "/a:b\nroot::0:0" },
    });
    expect(odd.stdout).toBe("nobody:x:65534:65534:nobody:/:/bin/sh\n2\n");
  });

  test("has no rights, and cannot get any", async () => {
    const { stdout } = await ground.sh(
      "id -u; id -g; grep -E '^(Cap|NoNewPrivs)' /proc/self/status; unshare -U true || echo 'no namespace'; mknod n c 1 3 || echo 'no device'; mount -t tmpfs t /tmp || echo 'no mount'",
    );
    expect(stdout.replace(/\s+/g, " ")).toBe(
      `65534 65534 ${["Inh", "Prm", "Eff", "Bnd", "Amb"].map((set) => `Cap${set}: 0000000000000000`).join(" ")} NoNewPrivs: 1 no namespace no device no mount `,
    );
  });

  test("is limited in processes, files and descriptors", async () => {
    const { stdout } = await ground.sh("ulimit -c; ulimit -d; ulimit -n; ulimit -f");
    expect(stdout).toBe(`0\n${1_073_741_824 / 1024}\n1024\n${268_435_456 / 512}\n`);
  });

  test("reaches no network, not even this machine", async () => {
    const server = createServer((socket) => socket.end("reached"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    try {
      const call = `bash -c 'exec 5<>/dev/tcp/127.0.0.1/${port} && cat <&5'`;
      const { stdout } = await ground.sh(`cut -d: -f1 /proc/net/dev | tail -n +3; ${call}`);
      expect(stdout.trim()).toBe("lo");
      expect((await ground.sh(call)).stdout).toBe("");
    } finally {
      server.close();
    }
  });

  test("makes files of whoever owns the root, as the adapter does", async () => {
    await ground.adapter.invoke("file:write", { root: "r", path: "made/here/a", content: "1", parents: true });
    await ground.adapter.invoke("file:append", { root: "r", path: "made/b", value: "1" });
    await ground.adapter.invoke("file:copy", { root: "r", path: "made", to: "copied", recursive: true });
    await ground.sh(
      "echo 2 >> made/here/a && echo 2 >> made/b && echo 3 > made/here/c && mkdir d && mv copied/here moved",
    );
    expect(readFileSync(join(ground.dir, "made/here/a"), "utf8")).toBe("12\n");
    const uid = isRoot ? OWNER : process.getuid?.();
    for (const path of ["made", "made/here/a", "made/b", "made/here/c", "d", "copied", "copied/b", "moved/a"]) {
      expect([path, statSync(join(ground.dir, path)).uid]).toEqual([path, uid]);
    }
    await ground.adapter.invoke("file:write", { root: "r", path: "made/here/c", content: "4" });
    expect(ground.internal).toEqual([]);
  });

  test("leaves no set-id file behind, hidden or not", async () => {
    ground.put("old");
    await ground.sh(
      "for f in a d/b d/e/c; do mkdir -p $(dirname $f); cp /bin/true $f; chmod 6755 $f; done; chmod 0 d/e d",
    );
    for (const path of ["a", "d/b", "d/e/c"]) {
      const { mode } = isRoot ? statSync(join(ground.dir, path)) : { mode: 0 };
      expect([path, (mode & 0o6000).toString(8)]).toEqual([path, "0"]);
    }
    expect(statSync(join(ground.dir, "d")).mode & 0o777).toBe(0);
    await ground
      .sh("chmod 755 d; chmod 755 d/e; ls -l a d/b d/e/c | grep -c '^-rwxr-xr-x'")
      .then(({ stdout }) => expect(stdout).toBe("3\n"));
  });

  test("is refused where it cannot begin", async () => {
    await expect(ground.sh("true", { cwd: "/workspace/none" })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(ground.warnings).toEqual([]);
  });

  test("is refused when its text cannot be an argument", async () => {
    for (const command of ["x".repeat(140_000), "a\0b"]) {
      await expect(ground.sh(command)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect((await ground.sh(`: ${"x".repeat(100_000)}; echo ok`)).stdout).toBe("ok\n");
  });
});

describe("system calls", () => {
  const ground = useShell();
  const table: Omit<SyscallTable, "audit"> = SYSCALLS[process.arch] ?? { denied: {}, socket: 0, socketpair: 0 };
  const { ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT } = constants.errno;

  /** A program of 32 bits that ends with status 7: an ELF header, a program header and `mov $1,%eax; mov $7,%ebx; int $0x80`. */
  const EXIT_7 = elf32(Buffer.from("b801000000bb07000000cd80", "hex"));

  /** Needs bubblewrap and a program of the system. */
  const withProgram = (path: string) =>
    needs(possible && existsSync(path), possible ? `${path} is not installed` : reason);
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
});

describe("the network", () => {
  const refusal = possible ? noMachine() : reason;
  const PASTA = "/usr/bin/pasta";
  const SLIRP = "/usr/bin/slirp4netns";
  const CLI = fileURLToPath(new URL("../../../dist/cli.js", import.meta.url));

  /** What could be the host, as seen from inside: its loopback, its addresses, and those that user-mode networking has for it. */
  const HOSTS = [
    ...["127.0.0.1", "127.0.0.53", "::1", "::ffff:127.0.0.1", "0.0.0.0", "localhost"],
    ...["203.0.113.9", "203.0.113.10", "203.0.113.1", "198.18.0.2", "198.18.0.3", "10.0.2.2", "10.0.2.3"],
  ];
  const tryHosts = HOSTS.map(
    (host) => `timeout 1 bash -c 'exec 5<>/dev/tcp/${host}/'$VENUE 2>/dev/null && echo ${host} REACHED; true`,
  ).join("\n");
  const ABSTRACT = `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die; print connect(S, pack_sockaddr_un("\\0venue-files-abstract")) ? "REACHED" : "refused"'`;
  const WEB = `bash -c 'exec 5<>/dev/tcp/'\${WEB%:*}/\${WEB#*:}' && printf "GET /hello HTTP/1.0\\r\\n\\r\\n" >&5 && tail -n 1 <&5'`;
  const files = { "/hello": { type: "text/plain", content: "hello" } };

  describe.each([
    ["pasta", PASTA, SLIRP],
    ["slirp4netns", SLIRP, PASTA],
  ])("a command with a network by %s", (name, path, other) => {
    const here = needs(refusal === undefined && existsSync(path), refusal ?? `${name} is not installed`);

    here("reaches other addresses, and neither loopback nor abstract sockets of the host", async () => {
      const rights =
        "grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; id -u; unshare -U true 2>/dev/null || echo none";
      const commands = {
        web: WEB,
        hosts: `${tryHosts}\necho tried`,
        abstract: ABSTRACT,
        rights,
        links: "ls /sys/class/net; cut -d: -f1 /proc/net/dev | tail -n +3",
      };
      const { own, ran } = await serveInMachine({ without: [other], files, commands });
      expect(own).toEqual({ venue: true, abstract: true });
      expect(ran["web"]).toMatchObject({ stdout: "hello", exit_code: 0 });
      expect(ran["hosts"]).toMatchObject({ stdout: "tried\n", exit_code: 0 });
      expect(ran["abstract"]).toMatchObject({ stdout: "refused", exit_code: 0 });
      expect(String(ran["rights"]?.["stdout"]).replace(/\s+/g, " ")).toBe(
        "CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 65534 none ",
      );
      expect(String(ran["links"]?.["stdout"]).trim().split(/\s+/).sort()).toEqual(["lo", "net0"]);
      expect(helpers(path)).toEqual([]);
    });

    here("leaves nothing of it behind when the service is killed", async () => {
      await serveInMachine({ without: [other], files, commands: { web: WEB }, stays: true }, async (child) => {
        while (helpers(path).length === 0) await sleep(5);
        process.kill(child.pid ?? 0, "SIGKILL");
        await until(() => helpers(path).length === 0);
      });
    });
  });

  /** Processes that connect a network of ours, by this program. */
  const helpers = (path: string): string[] =>
    processesWith(`${path}\0`).filter((pid) => processesWith("net0").includes(pid));

  describe("where neither is installed", () => {
    const config: ShellConfig = { ...DEFAULT_SHELL, network: true };

    test("is known by what can be run", () => {
      const directory = mkdtempSync(join(tmpdir(), "venue-files-tools-"));
      try {
        writeFileSync(join(directory, "pasta"), "", { mode: 0o644 });
        writeFileSync(join(directory, "slirp4netns"), "", { mode: 0o755 });
        const tools = (["pasta", "slirp4netns"] as const).map((name) => ({ name, path: join(directory, name) }));
        expect(networkTools(tools).map(({ name }) => name)).toEqual(["slirp4netns"]);
      } finally {
        rmSync(directory, { recursive: true });
      }
    });

    test("only a network in bubblewrap is refused", () => {
      for (const shell of [
        { network: false },
        { driver: "none" },
        { driver: "just-bash" },
        { unsafe: true },
      ] as const) {
        expect(networkRefusal({ ...config, ...shell }, [])).toBeUndefined();
      }
      const text = expect.stringContaining("pasta (package passt) or slirp4netns");
      for (const driver of ["auto", "bwrap"] as const) {
        expect(networkRefusal({ ...config, driver }, [])).toEqual(process.platform === "linux" ? text : undefined);
      }
    });

    needs(refusal === undefined, refusal ?? "")("serve and check refuse it, unless shell.unsafe is set", () => {
      const home = mkdtempSync(join(tmpdir(), "venue-files-refused-"));
      try {
        const of = (shell: object) => {
          const file = { roots: { r: { temp: true } } };
          const profiles = { j: { profile: "jettson", root: "r", shell } };
          writeFileSync(join(home, "venue.json5"), JSON.stringify({ port: 0, stateDir: home, file, profiles }));
          const argv = (command: string) => [process.execPath, CLI, command, "--config", join(home, "venue.json5")];
          return (command: string) => runInMachine(argv(command), [PASTA, SLIRP]);
        };
        for (const command of ["check", "serve"]) {
          const { status, stderr } = of({ network: true })(command);
          expect([command, status, stderr]).toEqual([command, 78, expect.stringContaining("slirp4netns")]);
        }
        expect(of({ network: true, unsafe: true })("check").status).toBe(0);
        expect(of({ network: false })("check").status).toBe(0);
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    });
  });

  test("nothing maps the host's loopback", () => {
    expect(networkArguments("pasta", 7)).toEqual(
      expect.arrayContaining(["--no-map-gw", "-t", "none", "-u", "-T", "-U", "7"]),
    );
    expect(networkArguments("pasta", 7).filter((argument) => argument === "none")).toHaveLength(4);
    expect(networkArguments("slirp4netns", 7)).toEqual(
      expect.arrayContaining(["--disable-host-loopback", "--disable-dns", "--userns-path=/proc/7/ns/user"]),
    );
  });

  describe("name servers of a run", () => {
    const write = (...contents: string[]) => {
      const directory = mkdtempSync(join(tmpdir(), "venue-files-resolver-"));
      const places = contents.map((content, index) => {
        writeFileSync(join(directory, String(index)), content);
        return join(directory, String(index));
      });
      try {
        return resolverFile([...places, join(directory, "none")]);
      } finally {
        rmSync(directory, { recursive: true });
      }
    };

    test("are those of this machine that are not on its loopback", () => {
      const local = ["127.0.0.53", "127.0.0.1", "::1", "0.0.0.0", "fe80::1%eth0", "::ffff:127.0.0.1", "no-address"];
      const text = [...local, "192.0.2.53", "2001:db8::53"].map((address) => `nameserver ${address}`).join("\n");
      expect(write(`# made\nsearch a.example\noptions edns0\n${text}\n`)).toBe(
        "search a.example\noptions edns0\nnameserver 192.0.2.53\nnameserver 2001:db8::53\n",
      );
    });

    test("are those behind a resolver on loopback, or none", () => {
      expect(write("nameserver 127.0.0.53\n", "nameserver 192.0.2.53\n")).toBe("nameserver 192.0.2.53\n");
      expect(write("nameserver 127.0.0.53\n")).toBe("");
      expect(write()).toBe("");
    });
  });
});

/** Top of all control groups, where root may make one that has both controllers. */
async function topHere(): Promise<{ top: string; reason: string }> {
  const bwrap = await bwrapHere();
  if (!bwrap.possible) return { top: "", reason: bwrap.reason };
  if (!isRoot) return { top: "", reason: "only root makes a control group to be delegated" };
  const top = groupDirectory("0::/\n", readFileSync("/proc/self/mountinfo", "utf8"));
  if (top === undefined) return { top: "", reason: "there are no control groups of version 2" };
  const controllers = readFileSync(join(top, "cgroup.controllers"), "utf8").split(/\s+/);
  if (!["pids", "memory"].every((name) => controllers.includes(name))) {
    return { top: "", reason: "control groups of version 2 have no pids and memory controller here" };
  }
  try {
    writeFileSync(join(top, "cgroup.subtree_control"), "+pids +memory");
    return { top, reason: "" };
  } catch {
    return { top: "", reason: "control groups cannot be written here" };
  }
}

const { top, reason: withoutGroups } = await topHere();

describe("control groups", () => {
  const CHILD = fileURLToPath(new URL("./group-child.mjs", import.meta.url));

  describeWhere(top !== "", withoutGroups)("a run of a service to which a control group is delegated", () => {
    let root = "";
    let base = "";
    const services: ChildProcessWithoutNullStreams[] = [];
    beforeEach(() => {
      root = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-groups-")));
      chownSync(root, OWNER, OWNER);
      base = join(top, `venue-files-test-${process.pid}`);
      mkdirSync(base);
    });
    afterEach(async () => {
      for (const service of services.splice(0)) await end(service);
      for (const name of groups()) rmdirSync(join(base, name));
      rmdirSync(join(base, "venue-files"));
      rmdirSync(base);
      rmSync(root, { recursive: true });
    });

    const groups = () => readdirSync(base).filter((name) => name.startsWith("venue-files-run-"));

    async function end(service: ChildProcessWithoutNullStreams): Promise<void> {
      if (service.exitCode !== null || service.signalCode !== null) return;
      service.kill("SIGKILL");
      await once(service, "exit");
    }

    /** Starts one in a group, and reads what it says. */
    function serve(commands: readonly string[], group = base) {
      const enter = 'echo $$ > "$0/cgroup.procs" && exec "$@"';
      const given = JSON.stringify({ root, base, commands });
      const service = spawn("/bin/sh", ["-c", enter, group, process.execPath, CHILD, given]);
      services.push(service);
      service.stderr.pipe(process.stderr);
      const lines = createInterface(service.stdout)[Symbol.asyncIterator]();
      const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value));
      return { service, next };
    }

    anywhere("has its own, with limits, which is gone with it", async () => {
      const { next } = serve([
        "head -c 30000000 /dev/zero | tail | tail | wc -c",
        // Each of the two is within what one process may have.
        "head -c 60000000 /dev/zero | tail | tail | wc -c",
        "setsid sleep 1000 & sleep 1000 & exit 3",
      ]);
      const own = `/${base.slice(top.length + 1)}/venue-files`;
      expect(await next()).toEqual({ warnings: [], groups: [], own });
      const during = { "pids.max": "56", "memory.max": "80384000", "memory.swap.max": expect.stringMatching(/^0?$/) };
      const left: string[] = [];
      expect(await next()).toEqual({ exitCode: 0, stdout: "30000000", during, left });
      expect(await next()).toEqual({ exitCode: 0, stdout: expect.not.stringMatching(/^60000000$/), during, left });
      expect(await next()).toMatchObject({ exitCode: 3, left });
    });

    anywhere("leaves none behind that the next start does not remove", async () => {
      const killed = serve(["sleep 1000"]);
      await killed.next();
      const { stays } = (await killed.next()) as { stays: string };
      expect(groups()).toEqual([stays]);
      await end(killed.service);
      expect(existsSync(join(base, stays))).toBe(true);
      // As whatever keeps the service running starts it again.
      const { next } = serve([], join(base, "venue-files"));
      expect(await next()).toMatchObject({ warnings: [], groups: [] });
    });
  });
});

// What doctor says where the system lets nobody make namespaces.
const can = process.getuid?.() === 0 && ["/usr/bin/bwrap", "/usr/bin/unshare", "/usr/bin/setpriv"].every(existsSync);

needs(can, "a system without user namespaces: needs root, bubblewrap, unshare and setpriv")(
  "doctor names the setting that keeps bubblewrap from namespaces",
  async () => {
    const home = makeFolder();
    chmodSync(home, 0o777);
    const user = `setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=${home}`;
    const inside = `echo 0 > /proc/sys/user/max_user_namespaces; cd ${home}; exec ${user} ${process.execPath} ${CLI} doctor`;
    // A namespace of its own, whose setting nobody else has; root in it has its rights from the second shell on.
    const child = spawn("unshare", ["-U", "sh", "-c", 'echo made; read go; exec sh -c "$0"', inside]);
    const said = text(child.stdout);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    for (const map of ["uid_map", "gid_map"]) writeFileSync(`/proc/${child.pid}/${map}`, "0 0 65536\n");
    child.stdin.end("go\n");
    expect(await said).toMatch(/NOTE +Sandbox .*ENOSPC.*set sysctl user\.max_user_namespaces to 10000/);
  },
);
