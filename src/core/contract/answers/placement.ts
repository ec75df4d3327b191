import { shape } from '../../schema/shape.ts';
import { flag, free, freeMap, integer, listOf, optional, text, texts, warnings } from './field-shapes.ts';

const reason = shape({
  type: 'object',
  named: 'PlacementReason',
  description: 'Why a node cannot take it.',
  fields: { filter: text, code: text, required: text, reported: text, message: text },
});

const refusedNode = shape({
  type: 'object',
  fields: { node: text, reasons: listOf(reason) },
});

const chosen = shape({ type: 'object', fields: { node: text, why: text } });

export const fieldChange = shape({
  type: 'object',
  named: 'FieldChange',
  fields: { field: text, from: free, to: free },
});

const instanceAction = shape({
  type: 'object',
  named: 'InstanceAction',
  fields: {
    action: {
      type: 'string',
      values: ['create', 'replace', 'stop', 'keep'],
      description: 'keep: it is left alone.',
    },
    instance: optional({ ...text, description: 'Absent: it does not exist yet.' }),
    node: optional({ ...text, description: 'Where it runs.' }),
    to: optional({
      ...text,
      description: 'Where the new one goes; absent: no node takes it, and an old one stays until one does.',
    }),
    how: {
      type: 'string',
      optional: true,
      values: ['start-first', 'stop-first'],
      description: 'Whether the new one is there before the old one stops.',
    },
    why: text,
  },
});

/** What a dry run would do. */
export const placementPlan = shape({
  type: 'object',
  named: 'PlacementPlan',
  fields: {
    id: {
      ...text,
      description:
        'Names the plan by what it rests on; with it in the query parameter plan, a write is refused when it would do anything else.',
    },
    actions: { ...listOf(instanceAction), description: 'What happens to each instance, and why.' },
    instances: { ...listOf(chosen), description: 'One entry per new instance that has a place.' },
    unplaced: {
      type: 'object',
      optional: true,
      description: 'New instances without a place, and every node with every reason.',
      fields: { count: integer, summary: text, nodes: listOf(refusedNode) },
    },
    waitingFor: texts,
    diff: optional(listOf(fieldChange)),
  },
});

export const explanation = shape({
  type: 'object',
  named: 'Explanation',
  fields: {
    deployment: text,
    instances: listOf({ type: 'object', fields: { id: text, node: text, current: flag } }),
    total: { ...integer, description: 'Nodes of the tenant.' },
    fitting: { ...integer, description: 'Nodes that would take one more instance.' },
    refused: {
      ...listOf({
        type: 'object',
        fields: { filters: texts, nodes: integer, nearest: { ...text, description: 'Lacks least of them.' } },
      }),
      description:
        'The nodes that refuse, by the filters that do; first those with the node that lacks least.',
    },
    nearest: { ...refusedNode, optional: true, description: 'No node fits: the one that lacks least.' },
    cursor: optional({ ...text, description: 'Of the next page of nodes; absent: there is none.' }),
    nodes: listOf({
      type: 'object',
      fields: {
        node: text,
        fits: flag,
        outcomes: listOf({
          type: 'object',
          fields: { filter: text, passed: flag, required: text, reported: text },
        }),
        reasons: listOf(reason),
      },
    }),
    chosen: optional(chosen),
    pin: {
      type: 'object',
      optional: true,
      description: 'nodeId alone keeps it from a node, and no node fits.',
      fields: {
        nodeId: text,
        fitWithout: texts,
        message: text,
        clearedBy: { type: 'object', fields: { method: text, path: text, body: freeMap } },
      },
    },
    summary: text,
    waitingFor: texts,
    misplaced: listOf({ type: 'object', fields: { id: text, node: text, reasons: listOf(reason) } }),
    warnings,
    access: {
      type: 'object',
      optional: true,
      description:
        'Of a question with from: whether it may connect, and how its nodes reach those of the deployment.',
      fields: {
        from: text,
        allowed: flag,
        rule: { ...text, description: 'What decides it.' },
        paths: listOf({
          type: 'object',
          fields: {
            from: text,
            to: text,
            path: { type: 'string', values: ['local', 'direct', 'relay', 'none'] },
            why: text,
          },
        }),
      },
    },
  },
});

/** Where the instances of a drained node go. */
export const drainFields = {
  movable: listOf({
    type: 'object',
    fields: {
      instance: text,
      deployment: text,
      to: text,
      how: {
        type: 'string',
        values: ['start-first', 'stop-first', 'switchover'],
        description:
          'Whether its successor is there before it stops; switchover: its volume moves along, and it stops meanwhile.',
      },
      why: optional({ ...text, description: 'Why it stops meanwhile.' }),
    },
  }),
  blocked: listOf({
    type: 'object',
    fields: { instance: text, deployment: text, why: text, nodes: listOf(refusedNode) },
  }),
  volumes: {
    ...listOf({ type: 'object', fields: { volumeId: text, volume: text, to: optional(text), why: text } }),
    description: 'Primaries of volumes there: where each moves to, or why it stays.',
  },
  stopping: { ...integer, description: 'Ordered to stop and not gone yet.' },
} as const;

export const regions = shape({
  type: 'object',
  named: 'Regions',
  fields: {
    enforcement: flag,
    regions: listOf({ type: 'object', fields: { name: text, countries: texts } }),
  },
});
