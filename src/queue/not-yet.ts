/** Options that api.md has and this version does not act on yet: refused rather than ignored. Shrinks with each version. */
import { Object, type ResolvedOptions, type ResolvedRunOptions, TypeError } from '#base';

const QUEUE: Partial<ResolvedOptions> = { spares: 1 };
const RUN: Partial<ResolvedRunOptions> = { onProgress: undefined };

/** @throws TypeError (`ERR_INVALID_ARG_VALUE`) on the first option that is set and cannot be kept. */
export const refuseNotYet = (options: ResolvedOptions): void => refuse(options, QUEUE);
export const refuseNotYetOfRun = (options: ResolvedRunOptions): void => refuse(options, RUN);

function refuse<T extends object>(options: T, unchanged: Partial<T>): void {
  for (const name of Object.keys(unchanged) as (keyof T & string)[]) {
    if (options[name] === unchanged[name]) continue;
    throw Object.assign(new TypeError(`Expected \`${name}\` not to be set: this version does not act on it yet`), {
      code: 'ERR_INVALID_ARG_VALUE',
    });
  }
}
