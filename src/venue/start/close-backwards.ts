// Closes resources in reverse order.

export interface Closable {
  close(): Promise<unknown>;
}

/** Closes resources in reverse order of opening. @throws the first failure, once all have been closed */
export async function closeBackwards(opened: readonly Closable[]): Promise<void> {
  const failures: unknown[] = [];
  for (const one of [...opened].reverse()) {
    // A failure must not leave the others open, or temp roots behind.
    await Promise.resolve(one.close()).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
