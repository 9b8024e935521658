/** A module as the type tests import it. Never run. */
import type { TaskHandle } from 'railhead';

export default async function format(n: number, task: TaskHandle): Promise<string> {
  return `${n} ${task.workerId}`;
}
export const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
export const version = '1';
