/** Five fields in, five fields out. Loaded by every contender. */
export default ({ id, name, x, y, live }) => ({ id: id + 1, name, x: y, y: x, live: !live });
