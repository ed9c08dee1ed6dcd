// Messages between the main thread and a shell's thread.

/** Start-up message of a shell's thread. */
export interface ShellTask {
  /** The script, and arguments after its first command. */
  readonly script: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Mount points served by the main thread, by index. */
  readonly mounts: readonly string[];
}

/** One file system call; paths are relative to the mount. */
export interface FileCall {
  readonly mount: number;
  readonly name: FileCallName;
  readonly path: string;
  readonly to?: string;
  readonly bytes?: Uint8Array;
  readonly isRecursive?: boolean;
}

export type FileCallName = "read" | "write" | "append" | "stat" | "list" | "mkdir" | "remove" | "copy" | "move";

/** Stat of an entry for the shell. */
export interface FileFacts {
  readonly type: "file" | "directory" | "other";
  /** The name itself is a link. */
  readonly isLink: boolean;
  readonly size: number;
  readonly isReadOnly: boolean;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

export interface FileName {
  readonly name: string;
  readonly type: "file" | "directory" | "symlink" | "other";
}

/** The answer; `errno` and `text` as a system would report. */
export type FileAnswer =
  | { readonly bytes: Uint8Array }
  | { readonly facts: FileFacts }
  | { readonly names: readonly FileName[] }
  | { readonly created: boolean }
  | { readonly errno: string; readonly text: string };

export type ToThread = { readonly id: number; readonly answer: FileAnswer } | { readonly stop: true };

export type FromThread =
  | { readonly ready: true }
  | { readonly id: number; readonly call: FileCall }
  | { readonly stdout: string; readonly stderr: string; readonly exitCode: number };
