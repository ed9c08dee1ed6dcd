// Notifies systemd of the state of the service (sd_notify(3), Type=notify), through `systemd-notify`: Node has no
// datagrams on Unix sockets.

import { execFile } from "node:child_process";
import type { CommandContext } from "../context.js";

/** A service manager that is told of each step. Nothing happens, and nothing fails, where there is none. */
export interface Supervisor {
  ready(status: string): Promise<void>;
  /** To be followed by {@link ready}. */
  reloading(): Promise<void>;
  stopping(): Promise<void>;
}

const MICROSECONDS = 1000;

/** The manager that `NOTIFY_SOCKET` names. With `WATCHDOG_USEC` it also hears regularly that the event loop runs. */
export function createSupervisor({ env }: Pick<CommandContext, "env">): Supervisor {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched } = env;
  if (socket === undefined || socket === "")
    return { ready: async () => {}, reloading: async () => {}, stopping: async () => {} };
  const own = { PATH: env["PATH"], NOTIFY_SOCKET: socket };
  const tell = (...states: readonly string[]) =>
    new Promise<void>((resolve) => {
      // The manager takes what a child says (NotifyAccess=all); a failure shows as a start that times out.
      execFile("systemd-notify", [`--pid=${process.pid}`, ...states], { env: own, timeout: 5000 }, () => resolve());
    });
  const periodMs = Number(watchdog) / MICROSECONDS / 2;
  if (periodMs > 0 && (watched === undefined || Number(watched) === process.pid)) {
    setInterval(() => void tell("WATCHDOG=1"), periodMs).unref();
  }
  return {
    ready: (status) => tell("READY=1", `STATUS=${status}`),
    reloading: () => tell("RELOADING=1", `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    stopping: () => tell("STOPPING=1"),
  };
}
