/** The entry `railhead/worker`: what handlers import. Any thread. */
export { move } from '#payload';
