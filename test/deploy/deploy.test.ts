import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { SaxesParser } from "saxes";
import { parse } from "yaml";
import { loadConfigFile } from "../../src/config/load.js";
import { cleanUp, makeFolder } from "../cli/process.js";
import { describeWhere, needs } from "../needs.js";

afterAll(cleanUp);
const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

// What the compose file, the Dockerfile and the documentation say of the container is the same, and it is what is tested.
const dockerfile = read("Dockerfile");
const { services, volumes } = parse(read("deploy/compose.yaml"));
const service = services["venue-files"];

/** Options of the `docker run` in a text, those that may be repeated as lists. */
function optionsIn(text: string): Readonly<Record<string, readonly string[]>> {
  const [, line = ""] = /docker run ((?:.*\\\n)*.*)/.exec(text) ?? [];
  const words = line
    .replace(/\\\n#?/g, " ")
    .trim()
    .split(/\s+/);
  const found: Record<string, string[]> = {};
  for (const [at, name] of words.entries()) {
    if (!name.startsWith("-")) continue;
    const value = name === "--read-only" ? [] : words.slice(at + 1, at + 2);
    found[name] = [...(found[name] ?? []), ...value];
  }
  return found;
}

const OPTIONS = {
  "--read-only": [],
  "--cap-drop": ["ALL"],
  "--security-opt": ["no-new-privileges"],
  "--tmpfs": ["/tmp"],
  "--stop-timeout": ["15"],
  "-p": ["127.0.0.1:8080:8080"],
  "-v": ["./venue.json5:/etc/venue-files/venue.json5:ro", "./files:/data", "state:/var/lib/venue-files"],
};

test.each([
  ["the Dockerfile", dockerfile],
  ["docs/operating.md", read("docs/operating.md")],
])("%s runs it read-only, without capabilities, on loopback", (_name, text) => {
  expect(optionsIn(text)).toEqual(OPTIONS);
});

describe("the compose file", () => {
  test("says the same as `docker run`", () => {
    expect(service).toEqual({
      build: "..",
      image: "venue-files",
      restart: "unless-stopped",
      stop_grace_period: `${OPTIONS["--stop-timeout"]}s`,
      read_only: true,
      cap_drop: OPTIONS["--cap-drop"],
      security_opt: ["no-new-privileges:true"],
      tmpfs: OPTIONS["--tmpfs"],
      ports: OPTIONS["-p"],
      volumes: OPTIONS["-v"],
    });
  });

  test("mounts what the image writes, and where its command looks for the configuration", () => {
    const places = service.volumes.map((volume: string) => volume.split(":")[1]);
    const [, written = "[]"] = /^VOLUME (\[.*\])$/m.exec(dockerfile) ?? [];
    const [, command = "[]"] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? [];
    expect(places).toEqual([JSON.parse(command).at(-1), ...JSON.parse(written)]);
    expect(Object.keys(volumes)).toEqual(["state"]);
    expect(dockerfile).toMatch(/^EXPOSE 8080$/m);
  });
});

// The service files of macOS and Windows, as far as their texts say. Neither was run: what they start is tested elsewhere.
describe("the agent of launchd", () => {
  /** Values by key, as the file has them in a row; of an array or dict its texts. */
  function valuesOf(xml: string): ReadonlyMap<string, readonly string[]> {
    const values = new Map<string, string[]>();
    let [key, text] = ["", ""];
    const parser = new SaxesParser();
    parser.on("error", (error) => {
      throw error;
    });
    parser.on("text", (read) => {
      text = read.trim();
    });
    parser.on("closetag", ({ name }) => {
      if (name === "key") key = text;
      else if (["string", "integer", "true", "false"].includes(name)) {
        values.set(key, [...(values.get(key) ?? []), text || name]);
      }
      text = "";
    });
    parser.write(xml).close();
    return values;
  }

  test("serves a configuration, again after a fault, and lets it end in order", () => {
    const values = valuesOf(read("deploy/venue-files.plist"));
    const [node = "", program = "", ...words] = values.get("ProgramArguments") ?? [];
    expect([node, program].every((path) => path.startsWith("/"))).toBe(true);
    expect(program).toMatch(/\/dist\/cli\.js$/);
    expect(words).toEqual(["serve", "--config", expect.stringMatching(/^\//)]);
    expect(values.get("RunAtLoad")).toEqual(["true"]);
    expect(values.get("SuccessfulExit")).toEqual(["false"]);
    // Open requests have five seconds.
    expect(Number(values.get("ExitTimeOut"))).toBeGreaterThan(10);
    expect(Number(values.get("Umask"))).toBe(0o077);
  });

  test("has the name that its instructions use", () => {
    const text = read("deploy/venue-files.plist");
    const [label = ""] = valuesOf(text).get("Label") ?? [];
    expect(text).toContain(`bootout gui/$UID/${label} `);
    expect(text).toContain(`~/Library/LaunchAgents/${label}.plist\n`);
  });
});

describe("the scheduled task", () => {
  const text = read("deploy/venue-files-task.ps1");
  const code = text.replace(/^#.*\n/gm, "").replace(/^\s+#.*\n/gm, "");

  test("checks the configuration, then serves it with the user's plain rights and no end", () => {
    expect(code).toMatch(/check --config \$file\nif \(\$LASTEXITCODE -ne 0\) \{ throw/);
    expect(code.indexOf("check --config")).toBeLessThan(code.indexOf("Register-ScheduledTask"));
    expect(code).toContain('-Argument "`"$cli`" serve --config `"$file`""');
    expect(code).toMatch(/-LogonType S4U -RunLevel Limited/);
    expect(code).toContain("-ExecutionTimeLimit ([TimeSpan]::Zero)");
    expect(code).not.toMatch(/-Password|Highest|Invoke-Expression/);
  });

  test("is closed where it was opened, and takes away what it made", () => {
    const plain = code.replace(/`"/g, "").replace(/'[^'\n]*'|"[^"\n]*"/g, '""');
    for (const [open = "", close = ""] of ["{}", "()", "[]"])
      expect(plain.split(open).length).toBe(plain.split(close).length);
    expect(code).toMatch(/if \(\$Remove\) \{\n {2}Stop-ScheduledTask[^}]*Unregister-ScheduledTask/);
  });
});

test("the page on Windows names the files that `init` writes there, and fits the package", async () => {
  const { CLIENTS } = await import("../../src/cli/init/clients.js");
  const page = read("docs/windows.md");
  expect(Buffer.byteLength(page)).toBeLessThan(6144);
  const env = { APPDATA: "%APPDATA%", LOCALAPPDATA: "%LOCALAPPDATA%" };
  for (const isFolder of [() => true, () => false]) {
    for (const [name, client] of Object.entries(CLIENTS)) {
      const file = client.file(".", { system: "win32", home: "%USERPROFILE%", env, isFolder });
      expect([name, page.includes(`\`${file}\``)]).toEqual([name, true]);
      expect(page).toContain(`\`${name}\``);
    }
  }
});

// What deploy/cluster says of several instances is what a venue takes, and agrees with itself.
describe("a cluster", () => {
  const DEPLOY = fileURLToPath(new URL("../../deploy/", import.meta.url));
  const read = (name: string): string => readFileSync(join(DEPLOY, name), "utf8");

  function runs(program: string): boolean {
    return spawnSync(program, ["version"], { stdio: "ignore" }).error === undefined;
  }

  describe("the compose file", () => {
    const { services, volumes } = parse(read("cluster/compose.yaml"), { merge: true });
    const instances = ["venue-1", "venue-2"];

    test.each(instances)("%s is as closed as one that is alone, with a state and an address of its own", (name) => {
      const { "venue-files": alone } = parse(read("compose.yaml")).services;
      const service = services[name];
      for (const key of ["image", "restart", "read_only", "cap_drop", "security_opt", "tmpfs"]) {
        expect([key, service[key]]).toEqual([key, alone[key]]);
      }
      expect(service.ports).toBeUndefined();
      expect(service.volumes).toEqual([
        `./${name}.json5:/etc/venue-files/venue.json5:ro`,
        "./secrets/seed:/run/secrets/seed:ro",
        `${name.replace("venue", "state")}:/var/lib/venue-files`,
      ]);
      const [config] = loadConfigFile(join(DEPLOY, `cluster/${name}.json5`));
      expect(config?.shared?.advertise).toBe(`http://${name}:8080`);
      expect(Object.keys(service.environment)).toContain(config?.shared?.postgres.url.env);
      expect(parseInt(service.stop_grace_period, 10)).toBeGreaterThan(10);
    });

    test("instances differ by their address alone", () => {
      const [one = "", two = ""] = instances.map((name) => read(`cluster/${name}.json5`));
      expect(two.replaceAll("venue-2", "venue-1").replace("Instance 2", "Instance 1")).toBe(one);
    });

    test("every volume and every upstream is there", () => {
      const mounted = Object.values<{ volumes?: readonly string[] }>(services).flatMap((one) => one.volumes ?? []);
      const named = mounted.map((one) => one.split(":")[0] ?? "").filter((one) => !one.startsWith("."));
      expect(new Set(named)).toEqual(new Set(Object.keys(volumes)));
      expect(read("cluster/Caddyfile")).toContain(
        `reverse_proxy ${instances.map((name) => `${name}:8080`).join(" ")} {`,
      );
      expect(services["venue-1"].build.args.PEERS).toMatch(/^postgres@3\.4\.\d+$/);
      expect(readFileSync(join(DEPLOY, "../Dockerfile"), "utf8")).toContain("ARG PEERS=");
    });
  });

  needs(runs("caddy"), "Caddy is not installed")("Caddy takes its file", () => {
    const file = join(DEPLOY, "cluster/Caddyfile");
    const adapted = execFileSync("caddy", ["adapt", "--adapter", "caddyfile", "--config", file], { stdio: "pipe" });
    expect(adapted.toString()).toContain("/readyz");
  });

  describeWhere(runs("systemd-analyze"), "there is no systemd-analyze")("the template unit", () => {
    test("has nothing that systemd does not know, and a configuration and a state for each instance", () => {
      const folder = makeFolder({
        "venue-files@.service": read("venue-files.service"),
        "venue-files@.service.d/instances.conf": read("cluster/instances.conf"),
      });
      const verify = ["verify", "--man=no", join(folder, "venue-files@.service")];
      const { stdout, stderr } = spawnSync("systemd-analyze", verify, { encoding: "utf8" });
      expect(`${stdout}${stderr}`.split("\n").filter((line) => line.includes("venue-files"))).toEqual([]);
      expect(read("cluster/instances.conf")).toMatch(/^StateDirectory=venue-files\/%i$/m);
    });
  });
});
