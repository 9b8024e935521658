/** The user's codec: a module with `serialize` and `deserialize`. Both threads; the user's code runs here. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Error, got, Object, TypeError, types, wrongType } from '#base';
import type { Encoded } from './decode.ts';
import { CodecFailed } from './not-plain.ts';

/** What the module of the option `codec` exports. */
export interface Codec {
  /** Any value that a task takes or gives, as bytes. */
  serialize(value: unknown): Uint8Array;
  /** The bytes are the caller's own: it may keep them. */
  deserialize(bytes: Uint8Array): unknown;
}

/** @throws TypeError (`ERR_INVALID_ARG_TYPE`) when the module is none. */
export function checkCodec(namespace: unknown, url: string): Codec {
  const own = namespace as Partial<Codec> & { default?: Partial<Codec> };
  const codec = typeof own?.serialize === 'function' ? own : own?.default;
  for (const name of ['serialize', 'deserialize'] as const) {
    if (typeof codec?.[name] !== 'function')
      throw wrongType(`Expected the codec module ${url} to export a function \`${name}\`, ${got(codec?.[name])}`);
  }
  return codec as Codec;
}

/**
 * @thread host. Loads the user's codec at once, since verbs use it in the tick in which the queue is made.
 * @throws TypeError (`ERR_INVALID_ARG_VALUE`, or `ERR_INVALID_ARG_TYPE` for a missing export) when the module cannot be used.
 */
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

/** @throws CodecFailed */
export function serializeWith(codec: Codec, value: unknown): Uint8Array {
  let bytes: unknown;
  try {
    bytes = codec.serialize(value);
  } catch (thrown) {
    throw new CodecFailed('`serialize` of the codec threw', { cause: thrown });
  }
  if (!types.isUint8Array(bytes)) throw new CodecFailed(`Expected \`serialize\` of the codec to return a Uint8Array, ${got(bytes)}`);
  return bytes;
}

/** @throws CodecFailed */
export function deserializeWith(codec: Codec, encoded: Encoded): unknown {
  try {
    return codec.deserialize(encoded.bytes);
  } catch (thrown) {
    throw new CodecFailed('`deserialize` of the codec threw', { cause: thrown });
  }
}
