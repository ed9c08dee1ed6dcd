// Deadlines and cancellation of changes.

import { setTimeout as sleep } from "node:timers/promises";
import { aborted, timedOut } from "../../core/errors/texts.js";
import { steppingClock } from "../access.js";
import { CHANGES, CONTENT_CHANGES, makeGround } from "../changes.js";
import { expectFailure, type Files, filesOf, yieldToLoop } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

/** How a deadline or a cancellation by the caller affects a change. */
export function lifeSuite(scenario: Scenario): void {
  describe("life of a call", () => {
    for (const { title, run } of CHANGES) {
      scenario(`that was aborted before: ${title} changes nothing`, async ({ backend, files }) => {
        await expectNoChange(files, async () => {
          await expectFailure(run(filesOf(backend, { signal: AbortSignal.abort() })), aborted());
        });
      });

      scenario(`that is over its time: ${title} changes nothing`, async ({ backend, files }) => {
        await expectNoChange(files, async () => {
          await expectFailure(run(filesOf(backend, { clock: steppingClock(1000), timeoutMs: 500 })), timedOut(500));
        });
      });

      scenario(`that nothing ends: ${title} succeeds`, async ({ backend, files }) => {
        await makeGround(files);
        const before = await files.snapshot();
        await run(filesOf(backend, { signal: new AbortController().signal }));
        expect(await files.snapshot()).not.toEqual(before);
      });
    }

    for (const { title, put, run } of CONTENT_CHANGES) {
      scenario(`aborted while it waits for content: ${title} answers at once, changes nothing`, async (stage) => {
        const controller = new AbortController();
        const impatient = filesOf(stage.backend, { signal: controller.signal });
        await expectNoChange(stage.files, async () => {
          const late = lateContent();
          const call = put(impatient, late);
          await late.asked;
          controller.abort();
          await expectFailure(call, aborted());
          late.release();
          // The background work ends at its next check; wait long enough for a wrong implementation to do harm.
          await sleep(20);
        });
        await expect(run(stage.files)).resolves.toMatchObject({ bytes: expect.any(Number) });
      });

      scenario(`over its time while it waits for content: ${title} changes nothing`, async ({ backend, files }) => {
        await expectNoChange(files, async () => {
          const late = lateContent();
          await expectFailure(put(filesOf(backend, { timeoutMs: 30 }), late), timedOut(30));
          late.release();
          await sleep(20);
        });
      });

      scenario(`aborted in the middle of a stream: ${title} changes nothing`, async ({ backend, files }) => {
        const controller = new AbortController();
        async function* stream(): AsyncGenerator<Uint8Array> {
          for (let count = 0; count < 5; count++) {
            await yieldToLoop();
            if (count === 2) controller.abort();
            yield Buffer.alloc(1000, "x");
          }
        }
        await expectNoChange(files, async () => {
          await expectFailure(put(filesOf(backend, { signal: controller.signal }), stream()), aborted());
          await sleep(20);
        });
      });
    }
  });
}

async function expectNoChange(files: Files, act: () => Promise<void>): Promise<void> {
  await makeGround(files);
  const before = await files.snapshot();
  await act();
  expect(await files.snapshot()).toEqual(before);
}

/** Content that is delivered on release. */
function lateContent(): { load(): Promise<Buffer>; asked: Promise<void>; release(): void } {
  const asked = signalOnce();
  const released = signalOnce();
  return {
    load: async () => {
      asked.give();
      await released.given;
      return Buffer.from("late");
    },
    asked: asked.given,
    release: released.give,
  };
}

function signalOnce(): { given: Promise<void>; give: () => void } {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}
