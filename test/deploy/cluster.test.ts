// What deploy/cluster says of several instances is what a venue takes, and agrees with itself.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { loadConfigFile } from "../../src/config/load.js";
import { cleanUp, makeFolder } from "../cli/process.js";
import { describeWhere, needs } from "../needs.js";

afterAll(cleanUp);

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
    expect(read("cluster/Caddyfile")).toContain(`reverse_proxy ${instances.map((name) => `${name}:8080`).join(" ")} {`);
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
