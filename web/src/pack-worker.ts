// Reads the pack that is edited and generates floors of it, in a thread of its own, so that typing never waits. A newer
// request ends the one before it.

import { decode } from "./floor";
import { Generator, type PackError, type PackInfo, type Spec } from "./generator";
import type { Files } from "./pack-files";
import { type Mode, paletteOf } from "./palette";
import { Scene } from "./scene";
import { paint, type Pixels } from "./thumbnail";

export interface Start { module: WebAssembly.Module }
export interface Request {
  id: number;
  /** The files, if they have changed. */
  files?: Files;
  /** Floors to encode. */
  floors: Spec[];
  /** Floors to paint. */
  tiles: Spec[];
  /** The side of a picture, in pixels. */
  side: number;
  mode: Mode;
}
export type Reply =
  /** What the files of request `id` are. */
  | { id: number; read: PackInfo | PackError[] }
  | { id: number; floor: number; bytes: Uint8Array<ArrayBuffer> }
  | { id: number; tile: number; spec: Spec; pixels: Pixels }
  | { id: number; failed: string }
  | { id: number; ended: true };

/** The most pixels of a cell's side. */
const MAX_SIDE = 4;

let generator: Generator;
let latest: Request;
let unread: { id: number; files: Files } | undefined;

self.onmessage = ({ data }: MessageEvent<Start | Request>) => {
  if ("module" in data) {
    generator = new Generator(data.module);
    return;
  }
  latest = data;
  if (data.files) unread = { id: data.id, files: data.files };
  void run(data);
};

const post = (reply: Reply, transfer: Transferable[] = []): void => self.postMessage(reply, { transfer });

async function run(request: Request): Promise<void> {
  const { id, floors, tiles, side } = request;
  try {
    if (!(await isLatest(request))) return;
    if (unread) read(unread);
    if (generator.pack) {
      for (const [floor, spec] of floors.entries()) {
        const bytes = generator.floor(spec);
        post({ id, floor, bytes }, [bytes.buffer]);
        if (!(await isLatest(request))) return;
      }
      for (const [tile, spec] of tiles.entries()) {
        const floor = decode(generator.floor(spec));
        const cell = Math.min(Math.max(Math.ceil(side / Math.max(floor.width, floor.height)), 1), MAX_SIDE);
        const pixels = paint(new Scene(floor), paletteOf(request.mode, generator.look(floor.theme)), cell);
        post({ id, tile, spec: floor.spec, pixels }, [pixels.data.buffer]);
        if (!(await isLatest(request))) return;
      }
    }
    post({ id, ended: true });
  } catch (error) {
    post({ id, failed: (error as Error).message });
  }
}

function read({ id, files }: { id: number; files: Files }): void {
  unread = undefined;
  const found = generator.read(files);
  post({ id, read: found });
}

/** Whether no newer request has come, after all messages that wait. */
async function isLatest(request: Request): Promise<boolean> {
  const { port1, port2 } = new MessageChannel();
  await new Promise((done) => {
    port1.onmessage = done;
    port2.postMessage(0);
  });
  port1.close();
  return request === latest;
}
