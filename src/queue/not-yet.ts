/** Options that api.md has and this version does not act on yet: refused rather than ignored. Shrinks with each version. */
import type { ResolvedOptions, ResolvedRunOptions } from '#base';

const QUEUE: Partial<ResolvedOptions> = { hooks: undefined, tagOutput: false, timeoutMs: 0, spares: 1 };
const RUN: Partial<ResolvedRunOptions> = { signal: undefined, timeoutMs: undefined, deadlineMs: 0, retry: 0, onProgress: undefined };

/** @throws TypeError (`ERR_INVALID_ARG_VALUE`) on the first option that is set and cannot be kept. */
export const refuseNotYet = (options: ResolvedOptions): void => refuse(options, QUEUE);
export const refuseNotYetOfRun = (options: ResolvedRunOptions): void => refuse(options, RUN);

function refuse<T extends object>(options: T, unchanged: Partial<T>): void {
  for (const name of Object.keys(unchanged) as (keyof T & string)[]) {
    if (options[name] === unchanged[name]) continue;
    const option = name === ('retry' as string) ? 'onCrash' : name;
    throw Object.assign(new TypeError(`Expected \`${option}\` not to be set: this version does not act on it yet`), { code: 'ERR_INVALID_ARG_VALUE' });
  }
}
