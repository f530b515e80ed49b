// The files of a pack, and where they come from and go to: directories and `.floorpack` files of the user's machine.

/** Text by path, or bytes of a file that is no text. */
export type Files = Map<string, string | Uint8Array<ArrayBuffer>>;

/** A file of the user's machine, not read yet. */
export interface Source { path: string; size: number; file(): Promise<File> }

export interface Limits { files: number; bytes: number }

/** Extensions of text, as in crates/floor-gen/src/pack/files.rs. */
const TEXT = /\.(toml|txt|json|md)$/;
/** The most bytes that a `.floorpack` file adds to a file: the line before it, and the line feed after it. */
const FRAME = 64;
/** The most directories in each other. */
const MAX_DEPTH = 16;

export const isText = (path: string): boolean => TEXT.test(path);

/** The files of a canonical form (crates/floor-gen/src/pack/files.rs), which the module wrote. */
export function parseCanonical(bytes: Uint8Array<ArrayBuffer>): Files {
  const files: Files = new Map();
  const decoder = new TextDecoder();
  for (let at = bytes.indexOf(10) + 1; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    const [, path, length] = decoder.decode(bytes.subarray(at, end)).split(" ");
    const content = bytes.slice(end + 1, end + 1 + Number(length));
    files.set(path, isText(path) ? decoder.decode(content) : content);
    at = end + 1 + content.length + 1;
  }
  return files;
}

/** Reads the files of a directory. Throws if they are too many or too large, before it reads them, or are no text. */
export async function readSources(sources: Source[], limits: Limits): Promise<Files> {
  if (sources.length > limits.files) throw new RangeError(`the directory has more than ${limits.files} files, the most of a pack`);
  const bytes = sources.reduce((sum, { path, size }) => sum + path.length + size, 0);
  if (bytes > limits.bytes) {
    const largest = sources.reduce((one, other) => (other.size > one.size ? other : one));
    throw new RangeError(`the directory has ${bytes} bytes, the largest file is ${largest.path}; a pack has at most ${limits.bytes}`);
  }
  const files: Files = new Map();
  for (const { path, file } of sources.sort((one, other) => (one.path < other.path ? -1 : 1))) {
    const content = new Uint8Array(await (await file()).arrayBuffer());
    files.set(path, isText(path) ? decodeText(path, content) : content);
  }
  return files;
}

function decodeText(path: string, content: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content).replaceAll("\r\n", "\n");
  } catch {
    throw new SyntaxError(`${path} is not UTF-8`);
  }
}

/** Reads a `.floorpack` file. Throws if it is too large for one, before it reads it. */
export async function readPackFile(file: File, limits: Limits): Promise<Uint8Array<ArrayBuffer>> {
  if (!file.name.endsWith(".floorpack")) {
    throw new SyntaxError(`${file.name} is no pack; a pack is a directory with a pack.toml, or a .floorpack file`);
  }
  if (file.size > limits.bytes + limits.files * FRAME) {
    throw new RangeError(`${file.name} has ${file.size} bytes; a pack has at most ${limits.bytes}`);
  }
  return new Uint8Array(await file.arrayBuffer());
}

/** The files that `<input type=file webkitdirectory>` chose. Hidden files are left out. */
export function chosenSources(list: FileList): Source[] {
  return [...list]
    .map((file) => ({ path: file.webkitRelativePath.split("/").slice(1).join("/"), size: file.size, file: async () => file }))
    .filter(({ path }) => !isHidden(path));
}

const isHidden = (path: string): boolean => path.split("/").some((part) => part.startsWith("."));

/** The files in a directory that was dropped. Hidden files are left out. It stops looking when there are too many. */
export async function droppedSources(root: FileSystemDirectoryEntry, limits: Limits): Promise<Source[]> {
  const sources: Source[] = [];
  const visit = async (directory: FileSystemDirectoryEntry, prefix: string, depth: number): Promise<void> => {
    if (depth > MAX_DEPTH) throw new RangeError(`${prefix} lies too deep: a pack has at most ${MAX_DEPTH} directories in each other`);
    const reader = directory.createReader();
    for (;;) {
      // A call returns some of the entries.
      const entries = await new Promise<FileSystemEntry[]>((done, fail) => reader.readEntries(done, fail));
      if (!entries.length) return;
      for (const entry of entries.filter(({ name }) => !isHidden(name))) {
        if (sources.length > limits.files) return;
        const path = prefix + entry.name;
        if (entry.isDirectory) await visit(entry as FileSystemDirectoryEntry, `${path}/`, depth + 1);
        else sources.push(await sourceOf(entry as FileSystemFileEntry, path));
      }
    }
  };
  await visit(root, "", 0);
  return sources;
}

async function sourceOf(entry: FileSystemFileEntry, path: string): Promise<Source> {
  const file = await new Promise<File>((done, fail) => entry.file(done, fail));
  return { path, size: file.size, file: async () => file };
}

/** Directories to write to, where the browser has the File System Access API. */
interface Picker {
  showDirectoryPicker(options: { id: string; mode: "readwrite" }): Promise<FileSystemDirectoryHandle>;
}
interface Asker {
  requestPermission(options: { mode: "readwrite" }): Promise<PermissionState>;
}

export const canWrite = "showDirectoryPicker" in globalThis;

/** Lets the user choose the directory to save into. Throws if it is neither empty nor a pack. */
export async function chooseDirectory(): Promise<FileSystemDirectoryHandle> {
  const directory = await (globalThis as unknown as Picker).showDirectoryPicker({ id: "pack", mode: "readwrite" });
  let isEmpty = true;
  for await (const name of (directory as unknown as { keys(): AsyncIterable<string> }).keys()) {
    if (name === "pack.toml") return directory;
    isEmpty &&= isHidden(name);
  }
  if (!isEmpty) throw new RangeError(`the directory ${directory.name} has other files and no pack.toml; choose the directory of the pack, or an empty one`);
  return directory;
}

/** Writes the files that differ from `before`, and removes those of `before` that are gone. */
export async function writeDirectory(root: FileSystemDirectoryHandle, files: Files, before: Files): Promise<number> {
  const permission = await (root as unknown as Asker).requestPermission({ mode: "readwrite" });
  if (permission !== "granted") throw new Error(`the browser may not write into ${root.name}`);
  const parent = async (path: string): Promise<[FileSystemDirectoryHandle, string]> => {
    const parts = path.split("/");
    const name = parts.pop() as string;
    let directory = root;
    for (const part of parts) directory = await directory.getDirectoryHandle(part, { create: true });
    return [directory, name];
  };
  let changed = 0;
  for (const [path, content] of files) {
    if (before.get(path) === content) continue;
    const [directory, name] = await parent(path);
    const writer = await (await directory.getFileHandle(name, { create: true })).createWritable();
    await writer.write(content);
    await writer.close();
    changed++;
  }
  for (const path of before.keys()) {
    if (files.has(path)) continue;
    const [directory, name] = await parent(path);
    await directory.removeEntry(name);
    changed++;
  }
  return changed;
}
