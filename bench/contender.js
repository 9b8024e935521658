/** The parent's end of one contender's process. Every step is answered, or the contender has failed in this scenario. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));
const PATIENCE_MS = 120_000;

export class Contender {
  #child;
  #stderr = '';

  constructor(scenario, name, workers) {
    this.name = name;
    this.#child = fork(CHILD, [scenario, name, String(workers)], { execArgv: ['--expose-gc'], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    this.#child.stderr.on('data', (chunk) => (this.#stderr = (this.#stderr + chunk).slice(-2000)));
  }

  /** Resolves when the child's modules are loaded and its pool is made. */
  ready() {
    return this.#answer();
  }

  ask(step) {
    const answer = this.#answer();
    if (this.#child.connected) this.#child.send(step);
    return answer;
  }

  /** Closes the pool where that is quick, then ends the process. `fresh` ones may hold a million jobs: just ended. */
  async end({ close }) {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    if (close) await Promise.race([this.ask('close').catch(() => {}), new Promise((resolve) => setTimeout(resolve, 5000).unref())]);
    this.#child.kill('SIGKILL');
    await gone;
  }

  #answer() {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const failed = (why) => settle(() => reject(new Error(`${why} ${this.#stderr}`.trim())));
      const onMessage = ({ result, error }) => settle(() => (error === undefined ? resolve(result) : reject(new Error(error))));
      const onExit = (code, signal) => failed(`its process ended (${signal ?? code}).`);
      const timer = setTimeout(() => failed(`no answer in ${PATIENCE_MS / 1000} s.`), PATIENCE_MS);
      const settle = (act) => {
        clearTimeout(timer);
        child.off('message', onMessage).off('exit', onExit).off('error', failed);
        act();
      };
      child.once('message', onMessage).once('exit', onExit).once('error', failed);
      if (child.exitCode !== null || child.signalCode !== null) onExit(child.exitCode, child.signalCode);
    });
  }
}
