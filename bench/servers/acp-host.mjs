// A host of the Agent Client Protocol on one folder: its agent is whoever has started it. Opens one session.
import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { createFileAdapter } from "venue-files";
import { AcpClientFs } from "venue-files/acp";

const [, , folder] = process.argv;
const adapter = await createFileAdapter({ roots: { r: { path: folder } } });
const acp = new AcpClientFs({ adapter, mounts: [{ root: "r" }] });
const connection = acp.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await connection.newSession({ cwd: folder });
await connection.closed;
await adapter.close();
