import type { NodeName } from '../model/ids.ts';
import type { NodeState } from './node-state.ts';

/** Why one fitting node comes before another. */
export interface Score {
  readonly node: NodeName;
  /** Instances of the same deployment that the node runs already. */
  readonly sameDeployment: number;
  readonly cpuShare: number;
  readonly memoryShare: number;
}

export function scoreOf(node: NodeState, sameDeployment: number): Score {
  return {
    node: node.name,
    sameDeployment,
    cpuShare: share(node.usedCpuMicros, node.capacity.cpuMicros),
    memoryShare: share(node.usedMemoryBytes, node.capacity.memoryBytes),
  };
}

/**
 * Used part of a capacity before the placement. Taken before and not after, so that the order of nodes is the same for
 * every request and can be kept instead of being computed per decision.
 */
export function share(used: number, capacity: number): number {
  return capacity > 0 ? used / capacity : 1;
}

export function utilisation(score: Pick<Score, 'cpuShare' | 'memoryShare'>): number {
  return Math.max(score.cpuShare, score.memoryShare);
}

/** Spread, then best fit, then name. Negative: `a` is the better node. Total, as names are unique. */
export function compareScores(a: Score, b: Score): number {
  if (a.sameDeployment !== b.sameDeployment) return a.sameDeployment - b.sameDeployment;
  const fit = utilisation(b) - utilisation(a);
  if (fit !== 0) return fit;
  return a.node < b.node ? -1 : Number(a.node > b.node);
}

export function describeScore(score: Score, deployment: string): string {
  const spread =
    score.sameDeployment === 0
      ? `runs no instance of ${deployment} yet`
      : `runs ${score.sameDeployment} of ${deployment}, no fitting node runs fewer`;
  return `${score.node} ${spread}; among such nodes it is the fullest that still fits (cpu ${percent(score.cpuShare)}, memory ${percent(score.memoryShare)} requested), and the first by name among equals`;
}

function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}
