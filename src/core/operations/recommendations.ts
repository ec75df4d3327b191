import { recommendation, volumeWritten } from '../contract/answers/volume.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { applyBody } from '../contract/volume-body.ts';
import { RECOMMENDATION_PRIORITIES, RECOMMENDATION_TYPES } from '../model/recommendation.ts';
import { LIST_QUERY } from './queries.ts';
import { operation } from './operation.ts';

export const RECOMMENDATIONS = {
  list: operation({
    method: 'GET',
    path: '/api/v1/dvm/recommendations',
    summary: 'What would be good for the volumes of the tenant, computed now; the most urgent first',
    tag: 'Volumes',
    permission: 'read',
    tenant: 'header',
    query: {
      priority: {
        description: 'Only of this priority.',
        schema: { type: 'string', enum: RECOMMENDATION_PRIORITIES },
      },
      type: { description: 'Only of this type.', schema: { type: 'string', enum: RECOMMENDATION_TYPES } },
      ...LIST_QUERY,
    },
    codes: [
      'volume_binding_unavailable',
      'dvm_recommendation_tenant_required',
      'dvm_recommendation_unknown_priority',
      'dvm_recommendation_unknown_type',
    ],
    success: {
      status: 200,
      description: 'Recommendations; the next page is in the Link header.',
      answer: listOf(recommendation),
    },
  }),
  apply: operation({
    method: 'POST',
    path: '/api/v1/dvm/recommendations/{id}/apply',
    summary: 'Do what a recommendation says',
    tag: 'Volumes',
    permission: 'volumes.manage',
    tenant: 'credential',
    body: { shape: applyBody, optional: true },
    codes: [
      'volume_binding_unavailable',
      'dvm_recommendation_not_found',
      'dvm_recommendation_volume_missing',
      'dvm_recommendation_not_applicable',
      'dvm_recommendation_unknown_action',
      'dvm_recommendation_bad_parameter',
      'dvm_recommendation_insufficient_nodes',
      'dvm_recommendation_stale_measurement',
      'dvm_recommendation_apply_invalid_spec',
    ],
    success: {
      status: 200,
      description: 'The volume as it is wanted now.',
      answer: volumeWritten,
    },
  }),
};
