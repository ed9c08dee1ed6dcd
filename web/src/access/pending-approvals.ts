// Approvals that wait for a decision: counted beside the place, and listed in it.

import { signal } from "@preact/signals";
import { read } from "../api/call.js";
import { offers } from "../api/catalogue.js";
import { follow } from "../api/events.js";
import { online } from "../api/http.js";
import type { Approval } from "../api/operations.js";

export const waiting = signal<readonly Approval[]>([]);

export async function loadWaiting(): Promise<void> {
  if (!offers("approval:list")) return;
  try {
    const { approvals } = await read("approval:list", {});
    waiting.value = approvals.filter(({ state = "pending" }) => state === "pending");
  } catch {
    // A caller without the right to decide sees no approvals.
    waiting.value = [];
  }
}

/** @returns what ends it */
export function followWaiting(): () => void {
  void loadWaiting();
  return offers("approval:list") ? follow(["approval"], () => void loadWaiting()) : () => {};
}

/** Not everybody who may decide is told by an event. Each look is a call in the audit, so only where the list is on screen. */
const LOOK_MS = 10_000;

/** @returns what ends it */
export function watchWaiting(): () => void {
  void loadWaiting();
  const timer = setInterval(() => {
    if (document.visibilityState === "visible" && online.value) void loadWaiting();
  }, LOOK_MS);
  return () => clearInterval(timer);
}
