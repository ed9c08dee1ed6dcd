// The files of a drop or a picked folder, with their paths in it.

export interface FileToUpload {
  readonly file: File;
  /** Below the folder it goes to. */
  readonly path: string;
}

/** Walks dropped folders. */
export async function filesOfDrop(data: DataTransfer | null): Promise<FileToUpload[]> {
  // The items are gone after the first wait.
  const entries = [...(data?.items ?? [])].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const plain = [...(data?.files ?? [])];
  if (entries.length === 0) return plain.map((file) => ({ file, path: file.name }));
  const found: FileToUpload[] = [];
  for (const entry of entries) await walk(entry, found);
  return found;
}

async function walk(entry: FileSystemEntry, found: FileToUpload[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ file, path: entry.fullPath.replace(/^\//, "") });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const one of some) await walk(one, found);
  }
}

/** The files of an `<input type="file">`. */
export const filesOfInput = (input: HTMLInputElement): FileToUpload[] =>
  [...(input.files ?? [])].map((file) => ({
    file,
    path: file.webkitRelativePath === "" ? file.name : file.webkitRelativePath,
  }));
