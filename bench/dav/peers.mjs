// Other WebDAV servers, each on an empty folder: rclone, and mod_dav of Apache, where they are installed.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { adopt } from "../lifetime.mjs";

const APACHE = "/usr/sbin/apache2";
const MODULES = "/usr/lib/apache2/modules";
/** Apache refuses to serve as root. */
const UNPRIVILEGED = "www-data";

/** @returns the servers that could be started: `{ name, url, base, pid }` */
export async function startPeers(folder) {
  const peers = [await startRclone(folder), await startApache(folder)].filter((peer) => peer !== undefined);
  return Promise.all(peers.map(answering));
}

async function startRclone(folder) {
  if (spawnSync("rclone", ["version"]).status !== 0) return undefined;
  const served = join(folder, "rclone");
  mkdirSync(served);
  const port = await freePort();
  const args = ["serve", "webdav", served, "--addr", `127.0.0.1:${port}`, "--config", join(folder, "none")];
  return started("rclone", "rclone", args, port);
}

async function startApache(folder) {
  if (!existsSync(APACHE) || !existsSync(join(MODULES, "mod_dav_fs.so"))) return undefined;
  const [home, port] = [join(folder, "apache"), await freePort()];
  const served = join(home, "served");
  mkdirSync(served, { recursive: true });
  chmodSync(folder, 0o711);
  for (const open of [home, served]) chmodSync(open, 0o777);
  const modules = ["mpm_event", "authz_core", "dav", "dav_fs", "dav_lock"];
  const lines = [
    ...modules.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`),
    ...[`ServerRoot ${home}`, "ServerName localhost", `PidFile ${home}/pid`, `Listen 127.0.0.1:${port}`],
    ...(process.getuid() === 0 ? [`User ${UNPRIVILEGED}`, `Group ${UNPRIVILEGED}`] : []),
    ...[`ErrorLog ${home}/errors`, `DocumentRoot ${served}`, `DavLockDB ${home}/locks`, "KeepAlive On"],
    ...[
      "MaxKeepAliveRequests 0",
      "KeepAliveTimeout 60",
      "<Location />",
      "Dav On",
      "Require all granted",
      "</Location>",
    ],
  ];
  writeFileSync(join(home, "conf"), `${lines.join("\n")}\n`);
  // One process, whose processor time is that of the server.
  return started("mod_dav", APACHE, ["-X", "-f", join(home, "conf")], port);
}

function started(name, command, args, port) {
  const child = spawn(command, args, { stdio: "ignore" });
  adopt(child.pid);
  return { name, url: `http://127.0.0.1:${port}`, base: "", pid: child.pid, child };
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

async function answering(peer) {
  for (let tries = 0; tries < 100; tries++) {
    const answer = await fetch(`${peer.url}/`, { method: "OPTIONS" }).catch(() => undefined);
    if (answer?.ok) return peer;
    if (peer.child.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${peer.name} does not answer`);
}
