import type { NodeName, TenantId } from '../model/ids.ts';
import { streamEndFields, streamItemFields, usageFields } from './agent-messages.ts';
import { branded, listOf, type Message, message, optional } from '../schema/message-shape.ts';
import { streamOperation } from './server-messages.ts';
import { LOG_LEVELS } from '../model/log-level.ts';
import { count, flag, integer, serverText } from './field-shapes.ts';

/** What control planes of one store say to each other, beside what they read in it. */
const tenantId = branded<TenantId>()(serverText);
const number = message({ type: 'number' });

export const peerStreamRequest = message({
  type: 'object',
  fields: { tenantId, node: serverText, operation: streamOperation },
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

/** What is asked of a control plane about itself; the answer is a stream of server-sent events that is passed on as it is. */
export const systemQuestion = message({
  type: 'choice',
  by: 'kind',
  of: {
    log: {
      type: 'object',
      fields: { follow: flag, level: { type: 'string', values: LOG_LEVELS }, tail: count, forMs: count },
    },
    debug: { type: 'object', fields: { forMs: count, profile: flag } },
  },
});
export type SystemQuestion = Message<typeof systemQuestion>;

export const peerQuestion = message({
  type: 'choice',
  by: 'kind',
  of: {
    /** Does the store answer you? */
    store: { type: 'object', fields: {} },
    usage: { type: 'object', fields: { tenantId, nodes: listOf(serverText) } },
    /** How old are the copies that the primaries on this node reported? */
    copies: { type: 'object', fields: { tenantId, node: branded<NodeName>()(serverText) } },
    scaling: { type: 'object', fields: { tenantId, deployment: serverText } },
    /** What do you know of the figures of these steps? */
    history: {
      type: 'object',
      fields: {
        tenantId,
        of: { type: 'string', values: ['deployments', 'nodes'] },
        name: serverText,
        stepMs: integer,
        from: integer,
        to: integer,
      },
    },
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
      volumeId: serverText,
      epoch: integer,
      copies: listOf({ type: 'object', fields: { nodeId: serverText, ageMs: number } }),
    },
  }),
  scaling: {
    type: 'object',
    fields: {
      state: { type: 'string', values: ['active', 'paused'] },
      message: serverText,
      replicas: integer,
      cpuPercent: optional(number),
      measured: number,
    },
  },
  /** Column by column; below 0: not known. No column: nothing is. */
  history: { type: 'object', fields: { columns: listOf(listOf(number)) } },
} as const;

export type PeerAnswer<Kind extends PeerQuestion['kind']> = Message<(typeof peerAnswers)[Kind]>;
/** How old the copies of a primary are, as one control plane tells another. */
export type CopyAges = PeerAnswer<'copies'>[number];
export type HistoryQuestion = Omit<Extract<PeerQuestion, { readonly kind: 'history' }>, 'kind'>;
export interface HistoryParts {
  readonly parts: readonly PeerAnswer<'history'>[];
  /** A control plane did not answer: what its agents measured is missing. */
  readonly isPartial: boolean;
}
