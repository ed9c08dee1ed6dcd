import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { DEFAULT_SHELL, type ShellConfig } from "../../../src/core/ports/sandbox.js";
import { resolverFile } from "../../../src/sandbox/bwrap/resolver.js";
import { networkArguments, networkRefusal, networkTools } from "../../../src/sandbox/bwrap/user-network.js";
import { needs } from "../../needs.js";
import { bwrapHere, processesWith } from "../ground.js";
import { noMachine, runInMachine, serveInMachine } from "./network.js";

const { possible, reason } = await bwrapHere();
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

  here(
    "reaches other addresses, and neither loopback nor abstract sockets of the host",
    async () => {
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
    },
    60_000,
  );

  here(
    "leaves nothing of it behind when the service is killed",
    async () => {
      await serveInMachine({ without: [other], files, commands: { web: WEB }, stays: true }, async (child) => {
        while (helpers(path).length === 0) await sleep(5);
        process.kill(child.pid ?? 0, "SIGKILL");
        for (let look = 0; look < 250 && helpers(path).length > 0; look++) await sleep(20);
        expect(helpers(path)).toEqual([]);
      });
    },
    60_000,
  );
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
    for (const shell of [{ network: false }, { driver: "none" }, { driver: "just-bash" }, { unsafe: true }] as const) {
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
