/**
 * What Railhead is to reach, per scenario and figure, and the only place where it is written. `against` names the peer in
 * the same run; without it the bar is an absolute one. `atLeast` / `atMost` is the ratio Railhead ÷ peer, or the figure itself.
 */
export const TARGETS = [
  { scenario: 'tiny-64', figure: 'rate', against: 'piscina', atLeast: 20 },
  { scenario: 'burst-100k', figure: 'rate', against: 'piscina', atLeast: 15 },
  { scenario: 'round-trip', figure: 'p50', against: 'piscina', atMost: 1 / 8 },
  { scenario: 'cpu-per-task', figure: 'cpu', against: 'piscina', atMost: 1 / 10 },
  { scenario: 'push-memory', figure: 'memory', atMost: 100 },
];
