import type { CommandEntry } from '../command.ts';

/** Every command, in the order of the help page. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'up',
    group: 'Start',
    summary: 'Start a control plane and a node on this machine',
    load: async () => (await import('./up.ts')).up,
  },
  {
    name: 'login',
    group: 'Start',
    summary: 'Remember a control plane and a token',
    load: async () => (await import('./login.ts')).login,
  },
  {
    name: 'context',
    group: 'Start',
    summary: 'List, choose and remove remembered control planes',
    load: async () => (await import('./context.ts')).context,
  },
  {
    name: 'doctor',
    group: 'Start',
    summary: 'Check what usually goes wrong, and say what to do',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'debug',
    group: 'Start',
    summary: 'Make an archive for a bug report, without credentials',
    load: async () => (await import('./debug.ts')).debug,
  },

  {
    name: 'run',
    group: 'Deploy',
    summary: 'Deploy an image without writing a file',
    load: async () => (await import('./run.ts')).run,
  },
  {
    name: 'apply',
    group: 'Deploy',
    summary: 'Create or update what files describe',
    load: async () => (await import('./apply.ts')).apply,
  },
  {
    name: 'diff',
    group: 'Deploy',
    summary: 'Show what applying files would change, field by field',
    load: async () => (await import('./diff.ts')).diff,
  },
  {
    name: 'restart',
    group: 'Deploy',
    summary: 'Replace the instances of a deployment by others of the same spec',
    load: async () => (await import('./restart.ts')).restart,
  },
  {
    name: 'stop',
    group: 'Deploy',
    summary: 'End one instance; a fresh one takes its place',
    load: async () => (await import('./instance-orders.ts')).stop,
  },
  {
    name: 'signal',
    group: 'Deploy',
    summary: 'Send a signal to one instance',
    load: async () => (await import('./instance-orders.ts')).signal,
  },
  {
    name: 'scale',
    group: 'Deploy',
    summary: 'Set the number of instances',
    load: async () => (await import('./scale.ts')).scale,
  },
  {
    name: 'scaling',
    group: 'Deploy',
    summary: 'Let the load choose the number of instances',
    load: async () => (await import('./scaling.ts')).scaling,
  },
  {
    name: 'canary',
    group: 'Deploy',
    summary: 'Try a changed version beside the stable one',
    load: async () => (await import('./canary.ts')).canary,
  },
  {
    name: 'rollout',
    group: 'Deploy',
    summary: 'Watch, list and undo changes of a deployment',
    load: async () => (await import('./rollout.ts')).rollout,
  },
  {
    name: 'job',
    group: 'Deploy',
    summary: 'Run, watch and end jobs',
    load: async () => (await import('./job.ts')).job,
  },
  {
    name: 'delete',
    group: 'Deploy',
    summary: 'Delete a record',
    load: async () => (await import('./delete.ts')).remove,
  },

  {
    name: 'get',
    group: 'Look',
    summary: 'List records, or print one',
    load: async () => (await import('./get.ts')).get,
  },
  {
    name: 'describe',
    group: 'Look',
    summary: 'Show a deployment, instance, job, volume or node with everything around it',
    load: async () => (await import('./describe.ts')).describe,
  },
  {
    name: 'explain',
    group: 'Look',
    summary: 'Say why a deployment is where it is, or what a code means',
    load: async () => (await import('./explain.ts')).explain,
  },
  {
    name: 'logs',
    group: 'Look',
    summary: "Print the output of a deployment's instances",
    load: async () => (await import('./logs.ts')).logs,
  },
  {
    name: 'exec',
    group: 'Look',
    summary: 'Run a command inside an instance',
    load: async () => (await import('./exec.ts')).exec,
  },
  {
    name: 'cp',
    group: 'Look',
    summary: 'Copy files from or to an instance',
    load: async () => (await import('./cp.ts')).cp,
  },
  {
    name: 'port-forward',
    group: 'Look',
    summary: 'Reach a port of an instance from this machine',
    load: async () => (await import('./port-forward.ts')).portForward,
  },
  {
    name: 'top',
    group: 'Look',
    summary: 'Show the processor and memory that instances take',
    load: async () => (await import('./top.ts')).top,
  },
  {
    name: 'events',
    group: 'Look',
    summary: 'Print what happened, also live',
    load: async () => (await import('./events.ts')).events,
  },
  {
    name: 'audit',
    group: 'Look',
    summary: 'Print who changed what, and when',
    load: async () => (await import('./audit.ts')).audit,
  },
  {
    name: 'archive',
    group: 'Look',
    summary: 'Show and compare earlier versions of a deployment',
    load: async () => (await import('./archive.ts')).archive,
  },
  {
    name: 'backup',
    group: 'Look',
    summary: 'Keep, carry and restore the configuration of a deployment',
    load: async () => (await import('./backup.ts')).backup,
  },

  {
    name: 'node',
    group: 'Run the platform',
    summary: 'Enrol, drain and remove machines',
    load: async () => (await import('./node.ts')).node,
  },
  {
    name: 'ingress',
    group: 'Run the platform',
    summary: 'List hosts and ports that lead to deployments, with their certificates',
    load: async () => (await import('./ingress.ts')).ingress,
  },
  {
    name: 'webhook',
    group: 'Run the platform',
    summary: 'Send events to a URL, signed',
    load: async () => (await import('./webhook.ts')).webhook,
  },
  {
    name: 'network',
    group: 'Run the platform',
    summary: 'Create and delete networks on a node',
    load: async () => (await import('./network.ts')).network,
  },
  {
    name: 'volume',
    group: 'Run the platform',
    summary: 'Create volumes, copy them to other nodes, delete them',
    load: async () => (await import('./volume.ts')).volume,
  },
  {
    name: 'recommendation',
    group: 'Run the platform',
    summary: 'See what would be good for the volumes, and do it',
    load: async () => (await import('./recommendation.ts')).recommendation,
  },
  {
    name: 'secret',
    group: 'Run the platform',
    summary: 'Write and rotate credentials',
    load: async () => (await import('./secret.ts')).secret,
  },
  {
    name: 'tenant',
    group: 'Run the platform',
    summary: 'Create tenants and set their quotas',
    load: async () => (await import('./tenant.ts')).tenant,
  },
  {
    name: 'cells',
    group: 'Run the platform',
    summary: 'Put one address in front of several installations',
    load: async () => (await import('./cells.ts')).cells,
  },
  {
    name: 'token',
    group: 'Run the platform',
    summary: 'Create and revoke access tokens',
    load: async () => (await import('./token.ts')).token,
  },

  {
    name: 'completion',
    group: 'More',
    summary: 'Print the completion script of a shell',
    load: async () => (await import('./completion.ts')).completion,
  },
  {
    name: 'version',
    group: 'More',
    summary: 'Print the versions of this program and of the control plane',
    load: async () => (await import('./version.ts')).version,
  },

  {
    name: 'server',
    group: 'Programs',
    summary: 'Run the control plane, or read its log (berth server --help)',
    load: async () => (await import('./server.ts')).server,
  },
];
