// A folder that a command writes into, reached from one that the user named without following a link: a part swapped meanwhile leads
// nowhere else (on Linux; elsewhere it is looked at right before).

import { mkdirSync, readlinkSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { attempt, runIo } from "../../core/io.js";
import { handlesFor } from "../../jail/engines.js";
import { below, type Handles, type Pinned, release } from "../../jail/handles.js";
import { Sys } from "../../jail/sys.js";
import { realHostPath } from "../../process/host-path.js";
import { codeOf, EXIT } from "../context.js";

export class HeldFolder {
  /** Path by which system calls reach this very folder. */
  readonly path: string;
  /** As the user knows it. */
  readonly shown: string;
  readonly #handles: Handles;
  readonly #pinned: Pinned;

  private constructor(handles: Handles, pinned: Pinned, shown: string) {
    this.path = pinned.path;
    this.shown = shown;
    this.#handles = handles;
    this.#pinned = pinned;
  }

  /** @param path named by the user, who may name a link @throws the system's error */
  static open(path: string, shown = path): HeldFolder {
    const handles = handlesFor(undefined, new Sys(false));
    return new HeldFolder(handles, handles.openRoot(realHostPath(path)), shown);
  }

  /**
   * The folder of that name in here.
   *
   * @param isMade makes it where there is none
   * @returns `undefined` where there is none
   * @throws ConfigError for anything else, such as a link; the system's error
   */
  async enter(name: string, isMade: boolean): Promise<HeldFolder | undefined> {
    const enter = () => runIo(this.#handles.enter(this.#pinned, name));
    let found = await enter();
    if (found === "missing" && isMade) {
      make(below(this.#pinned, name));
      found = await enter();
    }
    if (found === "missing") return undefined;
    if (found !== "not a directory") return new HeldFolder(this.#handles, found, join(this.shown, name));
    throw this.linkAt(name) ?? new ConfigError([`${escapeText(join(this.shown, name))} is no folder`], EXIT.noInput);
  }

  /** Removes an empty folder in here. @throws the system's error */
  drop(name: string): void {
    rmdirSync(below(this.#pinned, name));
  }

  /** The error for a name in here that is a link; `undefined` if it is none. */
  linkAt(name: string): ConfigError | undefined {
    return linkFault(below(this.#pinned, name), join(this.shown, name));
  }

  close(): void {
    release(this.#pinned);
  }
}

/** The error for a path that is a link, with the place that it leads to; `undefined` if it is none. */
export function linkFault(path: string, shown = path): ConfigError | undefined {
  const text = attempt(() => readlinkSync(path));
  if (text === undefined) return undefined;
  const target = escapeText(attempt(() => realHostPath(path)) ?? text);
  return new ConfigError(
    [
      `${escapeText(shown)} is a link to ${target}, and nothing is written through links. Change what is there by hand, or put a file or folder of its own in place of the link`,
    ],
    EXIT.config,
  );
}

function make(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}
