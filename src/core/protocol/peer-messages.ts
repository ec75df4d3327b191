import type { NodeName, TenantId } from '../model/ids.ts';
import { streamEndFields, streamItemFields, usageFields } from './agent-messages.ts';
import { branded, listOf, type Message, message, optional } from '../schema/message-shape.ts';
import { streamOperation } from './server-messages.ts';
import { flag, integer, told } from './words.ts';

/** What control planes of one store say to each other, beside what they read in it. */
const tenantId = branded<TenantId>()(told);
const number = message({ type: 'number' });

export const peerStreamRequest = message({
  type: 'object',
  fields: { tenantId, node: told, operation: streamOperation },
});
export type PeerStreamRequest = Message<typeof peerStreamRequest>;

/** A line of the answer: an item, or how it ended. */
export const peerStreamLine = message({
  type: 'object',
  fields: {
    item: optional({ type: 'object', fields: streamItemFields }),
    end: optional({ type: 'object', fields: streamEndFields }),
  },
  fits: ({ item, end }) => (item === undefined) !== (end === undefined),
});
export type PeerStreamLine = Message<typeof peerStreamLine>;

export const peerQuestion = message({
  type: 'choice',
  by: 'kind',
  of: {
    /** Does the store answer you? */
    store: { type: 'object', fields: {} },
    usage: { type: 'object', fields: { tenantId, nodes: listOf(told) } },
    /** How old are the copies that the primaries on this node told you of? */
    copies: { type: 'object', fields: { tenantId, node: branded<NodeName>()(told) } },
    scaling: { type: 'object', fields: { tenantId, deployment: told } },
  },
});
export type PeerQuestion = Message<typeof peerQuestion>;

/** What each question is answered with; what is not that is no answer. */
export const peerAnswers = {
  store: flag,
  usage: listOf({ type: 'object', fields: { ...usageFields, ageMs: number } }),
  copies: listOf({
    type: 'object',
    fields: {
      volumeId: told,
      epoch: integer,
      copies: listOf({ type: 'object', fields: { nodeId: told, ageMs: number } }),
    },
  }),
  scaling: {
    type: 'object',
    fields: {
      state: { type: 'string', values: ['active', 'paused'] },
      message: told,
      replicas: integer,
      cpuPercent: optional(number),
      measured: number,
    },
  },
} as const;

export type PeerAnswer<Kind extends PeerQuestion['kind']> = Message<(typeof peerAnswers)[Kind]>;
/** How old the copies of a primary are, as one control plane tells another. */
export type CopyAges = PeerAnswer<'copies'>[number];
