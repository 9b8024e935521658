/** Names of shared words for traces, from the layout's own table. Main thread of the explorer. */
import {
  LANE_RING,
  LAYOUT,
  RECORD_SHIFT,
  RECORD_WORDS,
  REGION_SLOTS,
  RING_ENTRIES,
  RING_MASK,
  RING_NEXT,
  SLAB_RECORDS,
  SLABS,
  SLOT_FRONT,
  SLOT_LANE,
  SLOT_WORDS,
  SLOTS,
} from '#memory';

/** `slot 2 SLOT_PERMIT`, `record 1 RECORD_STATE`, `front lane of 1, entry 0`. @param {number} index @param {{ region: any }} state */
export function describe(index, { region: { m } }) {
  const slots = m[REGION_SLOTS];
  if (index < SLOTS) return inPart('region', index);
  if (index < SLOTS + slots * SLOT_WORDS) {
    const name = inPart('slot', (index - SLOTS) % SLOT_WORDS);
    return name && `slot ${Math.floor((index - SLOTS) / SLOT_WORDS)} ${name}`;
  }
  const ofRecord = index - m[SLABS];
  if (ofRecord >= 0 && ofRecord < SLAB_RECORDS * RECORD_WORDS) {
    return `record ${ofRecord >> RECORD_SHIFT} ${inPart('record', ofRecord & (RECORD_WORDS - 1))}`;
  }
  for (let slot = 0; slot < slots; slot++) {
    const at = SLOTS + slot * SLOT_WORDS;
    const name = inRings(m, m[at + SLOT_LANE + LANE_RING], index) ?? inRings(m, m[at + SLOT_FRONT + LANE_RING], index);
    if (name !== undefined) return `ring of slot ${slot}, ${name}`;
  }
  return undefined;
}

/** Rings that consumers have left are not found any more. */
function inRings(m, first, index) {
  for (let ring = first; ring !== 0; ring = m[ring + RING_NEXT]) {
    const offset = index - ring;
    if (offset >= 0 && offset <= RING_ENTRIES + m[ring + RING_MASK])
      return offset < RING_ENTRIES ? inPart('ring', offset) : `entry ${offset - RING_ENTRIES}`;
  }
  return undefined;
}

function inPart(part, offset) {
  const row = LAYOUT.findLast((one) => one.part === part && one.index <= offset && offset < one.index + one.words);
  return row && (row.words === 1 ? row.name : `${row.name} + ${offset - row.index}`);
}
