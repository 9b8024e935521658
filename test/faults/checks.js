/** What a part of the command finds out, and how it is said. Any process of the command. */

export class Checks {
  /** { name, ok, detail } */
  list = [];
  /** Figures that prove nothing by themselves. */
  notes = [];

  /** One invariant. `wrong`: the cases that break it, or a count of them, or nothing. */
  none(name, wrong, total) {
    const cases = typeof wrong === 'number' ? Array(wrong).fill('') : [...wrong];
    const of = total === undefined ? '' : ` of ${total}`;
    const detail = cases.length === 0 ? '' : `${cases.length}${of}: ${cases.slice(0, 5).map(show).join(' | ')}`;
    this.list.push({ name, ok: cases.length === 0, detail });
  }

  that(name, ok, detail = '') {
    this.list.push({ name, ok: Boolean(ok), detail: show(detail) });
  }

  note(text) {
    this.notes.push(text);
  }
}

const show = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
