// Turns faults of the configuration into ConfigError.

import { ConfigError } from "../../config/errors.js";
import { RootsError } from "../../roots/open.js";

/** Turns the error of roots that cannot be opened into a ConfigError (exit status 78). */
export const asConfigError = (error: unknown): unknown =>
  error instanceof RootsError ? new ConfigError(error.problems, 78) : error;

/** @throws ConfigError */
export function withConfigErrors<T>(prepare: () => T): T {
  try {
    return prepare();
  } catch (error) {
    throw asConfigError(error);
  }
}
