/**
 * The values that tasks carry: made from a task's number alone, so that both sides know them without having been told. Pure; any
 * thread.
 */

/** Sizes in bytes, about: some fit into a record, most need a block, the largest need a chunk of their own. */
export const SIZES = [0, 1, 8, 24, 36, 44, 70, 200, 1_000, 4_000, 20_000, 70_000, 300_000];

/** What a task is given beside its number. */
export function bodyOf(index, size) {
  switch (index % 5) {
    case 0:
      return text(index, size, 'abcdefghijklmnop');
    case 1:
      return text(index, size / 2, 'aé漢😀\0\ud800'); // a NUL and half a surrogate pair
    case 2:
      return Uint8Array.from({ length: size }, (_, k) => index + k);
    case 3:
      return Array.from({ length: size / 8 }, (_, k) => (index + k) / 3);
    default:
      return { index, name: text(index, size, 'xyz'), flags: [true, null, -0, Number.NaN], nested: { deep: { index } } };
  }
}

function text(index, length, letters) {
  const unit = letters.slice(index % letters.length) + letters;
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}

/** What a good task returns: as large as its body, or a number. A mixed-up body or number cannot give the right answer. */
export function answerOf(index, body) {
  if (body === undefined) return index * 2 + 1;
  return index % 3 === 0 ? [index, weigh(body)] : { index, body, weight: weigh(body) };
}

/** A number that depends on all of it. */
function weigh(body) {
  let sum = 7;
  const mix = (n) => {
    sum = (Math.imul(sum, 31) + (n | 0)) | 0;
  };
  if (typeof body === 'string') for (let k = 0; k < body.length; k++) mix(body.charCodeAt(k));
  else if (Array.isArray(body) || body instanceof Uint8Array) for (const each of body) mix(each * 3);
  else for (const each of [body.index, body.name.length, body.nested.deep.index]) mix(each);
  return sum;
}
