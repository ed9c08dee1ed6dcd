import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HostBackend } from "../../src/backend/host.js";
import { Jail, type JailOptions } from "../../src/jail/jail.js";
import { Locks } from "../../src/jail/locks.js";
import { backendSuite, type OpenedBackend } from "./suite.js";

type Variant = Pick<JailOptions, "io" | "engine"> & { readonly durable: boolean };

async function openHost({ durable, ...jail }: Variant): Promise<OpenedBackend> {
  const path = await mkdtemp(join(tmpdir(), "venue-files-suite-"));
  const opened = new Jail({ path, readOnly: false, crossDevice: false, ...jail }, new Locks());
  return {
    backend: new HostBackend(opened, { durable, hardLinks: false, maxCopyBytes: 8_388_608 }),
    cleanup: () => rm(path, { recursive: true, force: true }),
  };
}

const VARIANTS: readonly (readonly [string, Variant])[] = [
  ["host, synchronous calls", { io: "sync", durable: false }],
  ["host, calls in the thread pool", { io: "pool", durable: false }],
  ["host, flushed", { io: "auto", durable: true }],
  ["host, real-path check", { io: "sync", durable: false, engine: "real-path check" }],
];

for (const [name, variant] of VARIANTS) backendSuite(name, () => openHost(variant), { links: true });
