// What doctor says where the system lets nobody make namespaces.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { afterAll, expect } from "@jest/globals";
import { CLI, cleanUp, makeFolder } from "../../cli/process.js";
import { needs } from "../../needs.js";

afterAll(cleanUp);

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
