import type { Permission } from '../../../core/model/permission.ts';
import type { Deployment, Job, Node } from '../../lib/records.ts';

export interface Step {
  readonly id: 'enrol' | 'deploy' | 'look';
  readonly title: string;
  /** What it is for, or how far it has come. */
  readonly text: string;
  readonly isDone: boolean;
  /** The same at the command line. */
  readonly command: string;
  readonly permission: Permission;
}

interface Begun {
  readonly deployments: readonly Deployment[];
  readonly jobs: readonly Job[];
  readonly nodes: readonly Node[];
}

/** Whether somebody has to be led: there is no machine, or nothing that would run on one. */
export function isNew({ deployments, jobs, nodes }: Begun): boolean {
  return nodes.length === 0 || deployments.length + jobs.length === 0;
}

function isWell({ status }: Deployment): boolean {
  return status.desired > 0 && status.healthy >= status.desired;
}

/** From a tenant with nothing to something that runs, each step with how far it has come. */
export function firstSteps({ deployments, jobs, nodes }: Begun): readonly Step[] {
  const ready = nodes.find(({ status }) => status === 'ready');
  const named = deployments.find(isWell) ?? deployments[0];
  const ranJob = jobs.find(({ status }) => status.runs[0]?.state === 'Succeeded');
  const isSeen = (named !== undefined && isWell(named)) || ranJob !== undefined;
  return [
    {
      id: 'enrol',
      title: 'Enrol a node',
      text:
        ready !== undefined
          ? `${ready.name} is ready, with ${ready.engine.kind} ${ready.engine.version}.`
          : nodes[0] !== undefined
            ? `${nodes[0].name} is enrolled; its agent has to report that it is ready.`
            : 'A machine with Docker or Podman. One line, pasted there, makes it a node of this tenant.',
      isDone: ready !== undefined,
      command: 'berth node token',
      permission: 'nodes.manage',
    },
    {
      id: 'deploy',
      title: 'Deploy something',
      text:
        (named ?? jobs[0]) === undefined
          ? 'An image and how many of it. It is checked before anything is stored.'
          : `${(named ?? jobs[0])?.name ?? ''} is stored.`,
      isDone: (named ?? jobs[0]) !== undefined,
      command: 'berth apply -f web.yaml',
      permission: 'deploy',
    },
    {
      id: 'look',
      title: 'Look at it',
      text: isSeen
        ? `${(named !== undefined && isWell(named) ? named : ranJob)?.name ?? ''} runs as it should. Its page has logs, charts and history.`
        : named === undefined
          ? 'Where it runs, what it prints, and why it does not where it does not.'
          : named.status.message,
      isDone: isSeen,
      command: `berth describe deployment ${named?.name ?? 'web'}`,
      permission: 'read',
    },
  ];
}
