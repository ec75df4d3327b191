import { shape } from '../../schema/shape.ts';
import { announced, integer, listOf, optional, text } from './field-shapes.ts';
import { fieldChange, placementPlan } from './placement.ts';

/** As it would be refused with alone. */
const rejection = shape({
  type: 'object',
  named: 'Rejection',
  fields: { code: text, field: text, received: text, expected: text, why: text, doc: text },
});

export const plannedDocument = shape({
  type: 'object',
  named: 'PlannedDocument',
  description: 'What a write of the document would do, when those before it are written.',
  fields: {
    index: { ...integer, description: 'Its place in the list that was sent, from 0.' },
    kind: text,
    name: text,
    action: { type: 'string', values: ['create', 'change', 'unchanged', 'refused'] },
    revision: {
      ...integer,
      optional: true,
      description: 'Of the record that would be changed, for If-Match.',
    },
    specHash: optional(text),
    changes: { ...listOf(fieldChange), description: 'Field by field, of a change.' },
    ...announced,
    plan: optional(placementPlan),
    rejections: {
      ...listOf(rejection),
      description: 'Of a document that is refused: the first, or with all every one.',
    },
  },
});

export const setPlan = shape({
  type: 'object',
  named: 'SetPlan',
  fields: {
    documents: {
      ...listOf(plannedDocument),
      description: 'In the order in which they are to be written: what others refer to first.',
    },
  },
});
