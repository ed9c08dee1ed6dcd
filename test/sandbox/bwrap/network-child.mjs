// A service in a network namespace of its own: a venue on loopback, a server on an abstract socket, and an HTTP server on an
// address that is neither. Runs commands of Jettson's shell with a network, and prints what came of them as a line of JSON.
import { createServer } from "node:http";
import { connect, createServer as createNetServer } from "node:net";
import { createFileAdapter, createProfile, createVenue } from "../../../dist/index.js";

const { root, address, files, commands } = JSON.parse(process.argv[2]);
const ABSTRACT = "\0venue-files-abstract";

const listen = (server, ...where) => new Promise((resolve) => server.listen(...where, () => resolve(server)));
const venue = await createVenue({ port: 0, file: { roots: { r: { path: root } } } });
const { url } = await venue.listen();
await listen(
  createNetServer((socket) => socket.end("REACHED")),
  ABSTRACT,
);
const web = await listen(
  createServer(({ url: path = "" }, response) => {
    const file = files[path];
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "Content-Type": file.type }).end(Buffer.from(file.base64, "base64"));
  }),
  0,
  address,
);

/** That both are there for whoever is in the same namespace. */
const own = {
  venue: await fetch(`${url}/healthz`).then((response) => response.status < 500),
  abstract: await new Promise((resolve) => {
    connect(ABSTRACT)
      .once("data", (bytes) => resolve(String(bytes) === "REACHED"))
      .once("error", () => resolve(false));
  }),
};
const adapter = await createFileAdapter({ roots: { r: { path: root } } });
const profile = createProfile(adapter, {
  ...{ profile: "jettson", root: "r", shell: { driver: "bwrap", network: true } },
});
await profile.ready;
const ran = {};
const places = `VENUE=${new URL(url).port}; WEB=${address}:${web.address().port}`;
for (const [name, command] of Object.entries(commands)) {
  ran[name] = await profile.call("jettson_shell_run", { command: `${places}\n${command}`, timeout_seconds: 60 });
}
console.log(JSON.stringify({ own, ran }));
if (process.argv[3] === "stay") {
  void profile.call("jettson_shell_run", { command: "sleep 60", timeout_seconds: 60 });
  setInterval(() => {}, 1000);
} else process.exit(0);
