/** Part of an answer from whose directories entries vanished while they were read. */
export const warningsOf = (hasVanished: boolean): { warnings?: string[] } =>
  hasVanished ? { warnings: ["Entries vanished while the directory was read and are left out"] } : {};
