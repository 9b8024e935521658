/** What came of a storm, held against its plan and its ledger. Main thread of a child process. */
import { getEventListeners } from 'node:events';
import { at, ENDED, STARTED, STRUCK, WHERE } from './ledger.js';
import { surprises } from './surroundings.js';

/** @param stopped the queue was stopped in the midst of it */
export function audit(storm, checks, stopped, report) {
  const { tasks } = storm.plan;
  const { ledger, fates } = storm;
  const word = (index, field) => Atomics.load(ledger, at(index, field));
  const runs = tasks.filter(({ verb, index }) => verb === 'run' && fates[index] !== 'E_QUEUE_FULL');
  const open = tasks.filter(({ verb, index }) => verb === 'run' && storm.settled[index] !== 1);
  checks.none(
    'each promise has settled, once',
    open.map((task) => tell(storm, task)),
    runs.length,
  );

  const { completed, failed, pending, queued, running } = storm.queue.stats();
  const answered = runs.filter(({ index }) => fates[index] === 'answer').length;
  const rejected = runs.length - answered;
  const cut = report?.cut ?? 0;
  checks.that(
    'settled = admitted',
    completed + failed === storm.admitted,
    `completed ${completed} + failed ${failed}, admitted ${storm.admitted}`,
  );
  const toldOf = failed - rejected;
  checks.that(
    'what was pushed and failed was told, each once',
    storm.told === toldOf || (stopped && storm.told <= toldOf),
    `told ${storm.told}, failed ${toldOf}`,
  );
  const ended = tasks.reduce((sum, { verb, index }) => sum + (verb !== 'run' && verb !== undefined && word(index, ENDED) > 0 ? 1 : 0), 0);
  checks.that('what was pushed and completed had run', completed - answered <= ended, `completed ${completed - answered}, ran ${ended}`);
  checks.that(
    'pending, queued and running are 0',
    pending === 0 && queued === 0 && running === 0 && storm.queue.size === 0,
    `${pending} ${queued} ${running} ${storm.queue.size}`,
  );
  if (report !== undefined) checks.that('the report adds up', report.completed === completed && report.failed + cut === failed, report);

  checks.none(
    'none has started twice',
    tasks.filter(({ index, retry, does }) => does !== 'meeting place' && word(index, STARTED) > 1 + retry).map((task) => tell(storm, task)),
    tasks.length,
  );
  checks.none(
    'none that was refused has started',
    tasks
      .filter(
        ({ index, verb, does }) =>
          does !== 'meeting place' && (verb === undefined || fates[index] === 'E_QUEUE_FULL') && word(index, STARTED) > 0,
      )
      .map((task) => tell(storm, task)),
  );
  checks.none(
    'no result is wrong',
    runs.filter(({ index }) => fates[index]?.startsWith('WRONG')).map((task) => tell(storm, task)),
    answered,
  );
  checks.none(
    'each fate has its reason',
    runs.filter((task) => !explained(storm, task, stopped)).map((task) => tell(storm, task)),
    runs.length,
  );
  checks.none(
    'no answer without its handler having ended',
    runs
      .filter(({ index, fault }) => fates[index] === 'answer' && fault === undefined && word(index, ENDED) === 0)
      .map((task) => tell(storm, task)),
  );
  checks.none('errors outside any task are those of the storm', storm.foreign);
  auditDeaths(storm, checks, runs);
  checks.none('live, condemned and pending are in bounds at every sample', storm.bad);
  checks.none(
    'no listener is left on a signal',
    storm.signals.filter((signal) => getEventListeners(signal, 'abort').length > 0).map(() => 'a signal'),
    storm.signals.length,
  );
  checks.none('no uncaught error but those on purpose', surprises.splice(0));
}

function auditDeaths(storm, checks, runs) {
  const { fates, errors, ledger } = storm;
  const wrong = [];
  const perWorker = new Map();
  for (const task of runs) {
    if (fates[task.index] !== 'E_WORKER_DIED') continue;
    const { message, reason, exitCode } = errors[task.index];
    const workerId = Number(/^Worker (\d+) /.exec(message)?.[1]);
    const thread = storm.threads.get(workerId);
    const started = Atomics.load(ledger, at(task.index, STARTED));
    const where = Atomics.load(ledger, at(task.index, WHERE));
    perWorker.set(workerId, (perWorker.get(workerId) ?? 0) + 1);
    const say = (what) => wrong.push(`${what}: ${tell(storm, task)}`);
    if (thread === undefined || !thread.gone) say('names a worker that is not gone');
    else if (started > 0 && task.retry === 0 && where !== workerId) say(`ran on ${where}`);
    else if (reason === 'terminated' && !thread.terminated) say('nobody terminated it');
    else if (reason === 'exit' && exitCode !== thread.exitCode) say(`the thread's exit code was ${thread.exitCode}`);
    else if (task.fault === 'exit in the task' && reason === 'exit' && !thread.terminated && task.retry === 0 && exitCode !== task.rest[0])
      say('not its exit code');
    else if (task.sync && task.fault === undefined && started > 0 && storm.tasksPerWorker === 1 && !thread.terminated)
      say('a good task, struck by another');
  }
  for (const [workerId, count] of perWorker) if (count > storm.tasksPerWorker) wrong.push(`worker ${workerId} took ${count} tasks with it`);
  checks.none('a death fails what ran on its thread, and nothing else', wrong);
}

function explained(storm, task, stopped) {
  const fate = storm.fates[task.index];
  if (task.fates.includes(fate)) return true;
  if (fate === 'E_WORKER_DIED') return true; // looked at with the deaths
  if (fate === 'E_HANDLER_LOAD') return endedInLoading(storm, task);
  if (fate === 'E_WORKER_TERMINATED') return storm.tasksPerWorker > 1 && storm.errors[task.index].retryable === true;
  return fate === 'E_QUEUE_STOPPED' && stopped;
}

/**
 * A thread that ends by itself while it imports a module is put down to that module, also if a late timer of another task did it:
 * nobody can tell. One that somebody else terminated is not.
 */
function endedInLoading(storm, { index }) {
  const workerId = Number(/^Worker (\d+) /.exec(storm.errors[index].cause?.message)?.[1]);
  const began = Atomics.load(storm.ledger, at(index, STARTED)) > 0;
  return !began && storm.threads.get(workerId)?.terminated !== true;
}

function tell(storm, task) {
  const { index, does, module, verb, fault } = task;
  const word = (field) => Atomics.load(storm.ledger, at(index, field));
  const error = storm.errors[index];
  return `#${index} ${verb} ${fault ?? 'good'} ${does ?? module}: ${storm.fates[index]}${error === undefined ? '' : ` (${error.message} ${error.reason ?? ''})`}, started ${word(STARTED)}, ended ${word(ENDED)}, struck ${word(STRUCK)}, on ${word(WHERE)}`;
}

/** Faults that really struck, by kind. */
export function faultsStruck(storm) {
  const counts = { terminate: storm.terminated, recycle: storm.recycled };
  for (const { index, fault } of storm.plan.tasks) {
    if (fault === undefined) continue;
    const fate = storm.fates[index];
    const begun = Atomics.load(storm.ledger, at(index, STARTED)) > 0;
    let hit = Atomics.load(storm.ledger, at(index, STRUCK)) > 0;
    if (fault === 'abort while queued' || fault === 'abort in a batch') hit = fate === 'ABORT_ERR' && !begun;
    else if (fault.startsWith('abort')) hit = fate === 'ABORT_ERR' && begun;
    else if (fault === 'deadline') hit = fate === 'E_TASK_DEADLINE';
    else if (fault === 'out of memory') hit &&= fate !== 'E_TASK_TIMEOUT';
    counts[fault] = (counts[fault] ?? 0) + Number(hit);
  }
  return counts;
}

export function reasons(storm) {
  const counts = {};
  for (const error of storm.errors) {
    const name = error?.reason === undefined || error.code !== 'E_WORKER_DIED' ? error?.code : `${error.code} ${error.reason}`;
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
