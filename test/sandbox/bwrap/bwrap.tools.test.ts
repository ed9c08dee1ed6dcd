import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect } from "@jest/globals";
import { needs } from "../../needs.js";
import { bwrapHere, ENV, isRoot, OWNER, useShell } from "../ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const ground = useShell({ shell: { scratchBytes: 1_048_576 } });

describe("a command in bubblewrap", () => {
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
