import { ConfigError } from "../../config/errors.js";
import { RootsError } from "../../roots/open.js";

/** Roots that cannot be opened are a mistake in the configuration of a venue. */
export const asConfigError = (error: unknown): unknown =>
  error instanceof RootsError ? new ConfigError(error.problems, 78) : error;

/** @throws ConfigError */
export function preparing<T>(prepare: () => T): T {
  try {
    return prepare();
  } catch (error) {
    throw asConfigError(error);
  }
}
