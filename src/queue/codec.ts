/** The host's load of the user's own codec: at once, since verbs use it in the tick in which the queue is made. Host thread. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Error, got, Object, TypeError } from '#base';
import { type Codec, checkCodec } from '#payload';

/** @throws TypeError (`ERR_INVALID_ARG_VALUE`, or `ERR_INVALID_ARG_TYPE` for a missing export) when the module cannot be used. */
export function loadCodec(url: URL | undefined): Codec | undefined {
  if (url === undefined) return undefined;
  let namespace: unknown;
  try {
    namespace = createRequire(url)(fileURLToPath(url)); // ESM too, unless it awaits at its top level
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : got(cause);
    throw Object.assign(new TypeError(`Expected \`codec\` to be a module that loads at once, got ${url.href}: ${why}`, { cause }), {
      code: 'ERR_INVALID_ARG_VALUE',
    });
  }
  return checkCodec(namespace, url.href);
}
