import { PINNED_IMAGE } from './forms.ts';
import { type Draft, shape } from '../schema/shape.ts';

export const canaryBody = shape({
  type: 'object',
  fields: {
    image: {
      type: 'string',
      form: PINNED_IMAGE,
      description: 'The stable spec with this image.',
      ownCode: 'image_required',
      example: 'registry.internal:5000/shop/web:1.5.0',
    },
    spec: {
      type: 'any',
      schema: { $ref: '#/components/schemas/DeploymentChange' },
      description:
        'Fields that differ from the stable spec; each replaces the stable one whole, as in an update.',
      sensitive: true,
    },
    replicas: {
      type: 'integer',
      form: { minimum: 1 },
      description: 'Instances of the canary; default 1.',
      example: 1,
      ownCode: 'canary_invalid',
    },
    weight: {
      type: 'integer',
      form: { minimum: 0, maximum: 100 },
      description:
        "Percent of new connections to the deployment's virtual address that go to the canary while both are healthy; absent: its share of instances.",
      example: 10,
      ownCode: 'canary_invalid',
    },
  },
});

export type CanaryDraft = Draft<typeof canaryBody>;
