/** What the thread of a shell is started with. */
export interface ShellTask {
  /** A script, and arguments behind its first command. */
  readonly script: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Where the file systems are that the main thread serves, by their number. */
  readonly mounts: readonly string[];
}

/** One call of a file system; paths are below the mount. */
export interface FileCall {
  readonly mount: number;
  readonly name: FileCallName;
  readonly path: string;
  readonly to?: string;
  readonly bytes?: Uint8Array;
  readonly isRecursive?: boolean;
}

export type FileCallName = "read" | "write" | "append" | "stat" | "list" | "mkdir" | "remove" | "copy" | "move";

/** As a shell sees an entry. */
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

/** What comes back; `errno` and `text` as a system would say it. */
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
