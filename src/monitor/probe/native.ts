/** The addon in `native/`: loaded where a prebuilt file fits, and where none does nobody is told. Any thread. */
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';

/** What `native/railhead.c` exports; it says there what each returns. */
export interface Native {
  gettid(): number;
  cpuMs(tid: number): number;
  state(descriptor: number, tid: number): number;
  release(bytes: Uint8Array, from: number, to: number): number;
}

const PACKAGE = '../../../'; // from dist/monitor/probe

let loaded: Native | undefined;
let tried = false;

/**
 * `undefined` on a system that has no prebuilt file, under `--no-addons`, in a bundle without the file, or where the file does
 * not fit: all of it is then done without. Asked once a thread.
 */
export function loadNative(): Native | undefined {
  if (!tried) {
    tried = true;
    loaded = load(`${PACKAGE}native/prebuilds/${platform()}-${arch()}/railhead.node`);
  }
  return loaded;
}

/** For tests, which have files of their own. */
export function load(file: string): Native | undefined {
  try {
    return createRequire(import.meta.url)(file);
  } catch {
    return undefined;
  }
}
