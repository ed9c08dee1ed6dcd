export interface Closable {
  close(): Promise<unknown>;
}

/** Closes what was opened, last first. @throws the first failure, once all have been tried */
export async function closeBackwards(opened: readonly Closable[]): Promise<void> {
  const failures: unknown[] = [];
  for (const one of [...opened].reverse()) {
    // One that fails must not leave the others open, and temp roots behind.
    await Promise.resolve(one.close()).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
