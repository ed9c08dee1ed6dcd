// The error of a database that is damaged.

/** A database is not what was written. */
export class DamagedDatabase extends Error {
  /** @param what is damaged */
  constructor(what: string) {
    super(`The database is damaged: ${what}`);
  }
}
