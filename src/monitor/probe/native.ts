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

const PREBUILDS = '../../../native/prebuilds'; // from dist/monitor/probe

/**
 * `undefined` on a system that has no prebuilt file, under `--no-addons`, in a bundle without the file, or where the file does
 * not fit: all of it is then done without. A test hands in a folder of its own.
 */
export function loadNative(prebuilds: string = PREBUILDS): Native | undefined {
  try {
    return createRequire(import.meta.url)(`${prebuilds}/${platform()}-${arch()}/railhead.node`);
  } catch {
    return undefined;
  }
}
