// State directory, journals and log lines of the roots of a venue.

import type { VenueConfig } from "../../../config/types.js";
import { notSupportedHere } from "../../../core/errors/texts.js";
import { attempt } from "../../../core/io.js";
import { type Log, silentLog } from "../../../core/ports/log.js";
import type { JournalPlace } from "../../../journal/open-journal.js";
import type { RootsState } from "../../../roots/groups.js";
import { journalState, lookAtState, openState, stateDirOf } from "./place.js";

const MAX_LOGGED = 10;

type Environment = Readonly<Record<string, string | undefined>>;

interface RootsStateOptions {
  readonly env: Environment;
  readonly log: Log;
}

/** For a process that opens roots and records nothing: no journal is opened, even where one is configured. */
export const NOT_OPENED: JournalPlace = {
  openState() {
    throw new Error("Nothing is recorded here");
  },
  lookAtState() {
    throw new Error("Nothing is recorded here");
  },
  byDefault: false,
  log: silentLog,
};

/** Without a state directory groups of changes are undone after a crash all the same, until the next boot. */
export function rootsStateOf(config: VenueConfig, { env, log }: RootsStateOptions): RootsState {
  const path = attempt(() => stateDirOf(config, env));
  const place: JournalPlace = {
    openState: () => journalState(config, env),
    lookAtState: () => lookAtState(config, env),
    ...{ byDefault: true, log },
  };
  const prepare = (): void => {
    try {
      openState(config, env, "file:patch");
    } catch (err) {
      log.error({ err }, "changes of several files at once need a state directory that can be written");
      throw notSupportedHere("changes of several files at once, since its state directory cannot be used");
    }
  };
  return {
    ...(path === undefined ? {} : { stateDir: { path, prepare } }),
    ...(config.stateDir === false ? {} : { journals: place }),
    onRecovery(root, { outcome, paths }) {
      const shownPaths = paths.slice(0, MAX_LOGGED).map((one) => one.join("/"));
      const fields = { root, outcome, count: paths.length, paths: shownPaths };
      if (outcome === "undone") log.warn(fields, "a process died in a group of changes; they were undone");
      else if (outcome === "interrupted")
        log.error(fields, "a process died in a group of changes; these paths could not be put back and need a look");
      else if (outcome === "raced")
        log.error(
          fields,
          "a group of changes failed, and others had changed these paths: compare them with what was kept in .venue-files/aside-*",
        );
      else if (outcome === "foreign")
        log.warn(fields, "a record of changes that this venue did not make was moved aside in .venue-files");
      else log.error(fields, "a group of changes could not be undone; the next start tries again");
    },
  };
}
