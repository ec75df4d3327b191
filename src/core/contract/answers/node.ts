import { NODE_CONDITIONS } from '../../model/node.ts';
import { shape } from '../../schema/shape.ts';
import { drainFields } from './placement.ts';
import {
  allOptional,
  announced,
  flag,
  integer,
  listOf,
  nullable,
  number,
  optional,
  text,
  textMap,
  texts,
  time,
} from './field-shapes.ts';

const capacity = shape({ type: 'object', fields: { cpu: number, memoryBytes: integer } });

const requested = shape({ type: 'object', fields: { ...capacity.fields, diskBytes: integer } });

const nodeFields = {
  id: text,
  name: text,
  tenantId: text,
  claims: texts,
  status: { type: 'string', values: ['ready', 'failed'] },
  reason: optional({ ...text, description: 'Why it is not ready, and what to do where that is known.' }),
  schedulable: flag,
  draining: optional(flag),
  controlPlane: flag,
  labels: textMap,
  capacity,
  requested,
  disk: optional({
    type: 'object',
    fields: {
      totalBytes: integer,
      roomBytes: {
        ...integer,
        description: 'What all its containers together may ask for (resources.requests.disk); in steps.',
      },
    },
    description: 'Of its engine; absent: its agent does not say.',
  }),
  engine: { type: 'object', fields: { kind: text, version: text } },
  platform: text,
  agentVersion: text,
  volumeEngines: { ...texts, description: 'What can keep volumes there, best first.' },
  features: { ...texts, description: 'What its agent can do beyond the first release.' },
  hostPorts: optional({ ...texts, description: 'Host ports that workloads may name there; absent: all.' }),
  problems: { ...texts, description: 'What its agent could not set up, and what it lacks.' },
  conditions: {
    ...listOf({
      type: 'object',
      fields: { kind: { type: 'string', values: NODE_CONDITIONS }, message: text },
    }),
    description:
      'What its machine runs out of (disk, memory, pids), or what is wrong with it (clock, engine): while there is one, nothing new is placed there.',
  },
  mesh: optional({
    type: 'object',
    description: "How it takes part in the tenant's network; absent: it does not.",
    fields: {
      subnet: optional({
        ...text,
        description: 'Of its containers; absent: not given yet, or none is free.',
      }),
      problem: optional({ ...text, description: 'Why it has no subnet, or what its routes keep it from.' }),
      port: integer,
      addresses: { ...texts, description: 'By which other nodes may reach it.' },
      peers: {
        ...listOf({
          type: 'object',
          fields: {
            node: text,
            path: { type: 'string', values: ['direct', 'relay', 'none'] },
            address: optional(text),
            carries: { ...flag, description: 'The tunnel carried an answer in the last seconds.' },
            roundTripMs: optional(number),
            receivedBytes: integer,
            sentBytes: integer,
          },
        }),
        description: 'The way to each other node of the tenant, as its agent last reported it.',
      },
    },
  }),
  ingress: optional({
    type: 'object',
    description: 'How it serves the ingress of the tenant; absent: it does not.',
    fields: {
      caddy: optional({ ...text, description: 'Version; absent: there is none that can be used.' }),
      problem: optional({ ...text, description: 'Why it serves nothing.' }),
      http: integer,
      https: integer,
    },
  }),
  lastSeenAt: nullable(time),
} as const;

export const node = shape({ type: 'object', named: 'Node', fields: nodeFields });

export const nodeWritten = shape({
  type: 'object',
  named: 'NodeWritten',
  fields: { ...nodeFields, ...announced },
});

export const nodeEnrolled = shape({
  type: 'object',
  named: 'NodeEnrolled',
  fields: { ...nodeFields, nodeToken: { ...text, description: 'Only in this answer.' }, ...announced },
});

export const nodeMode = shape({
  type: 'object',
  named: 'NodeMode',
  description: 'With movable and blocked instances when it was drained.',
  fields: { ...nodeFields, ...allOptional(drainFields), ...announced },
});

export const claimReleased = shape({
  type: 'object',
  named: 'ClaimReleased',
  fields: { name: text, tenantId: text, released: flag, deleted: flag, ...announced },
});

const joinTokenFields = {
  id: text,
  nodeName: optional(text),
  createdAt: time,
  createdBy: text,
  expiresAt: optional(time),
} as const;

export const joinToken = shape({ type: 'object', named: 'JoinToken', fields: joinTokenFields });

export const joinTokenCreated = shape({
  type: 'object',
  named: 'JoinTokenCreated',
  fields: {
    ...joinTokenFields,
    token: { ...text, description: 'Only in this answer.' },
    command: { ...text, description: 'The line to paste on the host.' },
    ...announced,
  },
});

export const nodeCleaned = shape({
  type: 'object',
  named: 'NodeCleaned',
  fields: {
    name: text,
    dryRun: flag,
    disk: optional({
      type: 'object',
      description: 'Of the engine, after it; absent: it is not of the machine of the agent.',
      fields: { usedBytes: integer, totalBytes: integer },
    }),
    removed: listOf({ type: 'object', fields: { image: text, bytes: integer } }),
    kept: {
      ...listOf({
        type: 'object',
        fields: { image: text, bytes: integer, reason: text, message: text },
      }),
      description: 'Images that Berth pulled and that stay, with why.',
    },
    others: { ...integer, description: 'Images that Berth did not pull, which are left alone.' },
    divergences: optional({
      ...listOf({
        type: 'object',
        fields: {
          volumeId: text,
          volume: optional({ ...text, description: 'Its name; absent: it is not there any more.' }),
          epoch: integer,
          path: text,
          removed: flag,
          message: text,
        },
      }),
      description:
        'What earlier primaries of replicated volumes alone had written and this node keeps aside: whether its time is over and it is removed (with `dryRun`: would be), and for how long it has been kept.',
    }),
  },
});

export const nodeKey = shape({
  type: 'object',
  named: 'NodeKey',
  fields: { name: text, publicKey: text },
});
