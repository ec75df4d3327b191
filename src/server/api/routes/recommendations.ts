import { recommendation, volumeWritten } from '../../../core/contract/answers/volume.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import { applyBody } from '../../../core/contract/volume-body.ts';
import { RECOMMENDATION_PRIORITIES, RECOMMENDATION_TYPES } from '../../../core/model/recommendation.ts';
import { recommendationOrder } from '../../../core/planner/recommendations.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { filterRejection } from '../../../core/rules/recommendation.ts';
import {
  applyRecommendation,
  listRecommendations,
  type RecommendationAdmission,
} from '../../admission/recommendations.ts';
import { pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { writeReply } from '../write-reply.ts';
import { whileEnabled } from './volumes.ts';

const PATH = '/api/v1/dvm/recommendations';

function list(recommendations: RecommendationAdmission, { store, query }: RouteRequest): Reply {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const { priority, type } = query;
  const unknown = filterRejection({ priority, type });
  if (unknown) return unknown;
  const fitting = listRecommendations(recommendations, store).filter(
    (one) =>
      (priority === undefined || one.priority === priority) &&
      (type === undefined || one.type === type) &&
      (page.after === undefined || recommendationOrder(one) > page.after),
  );
  return pageReply(page, PATH, query, fitting.slice(0, page.limit + 1), recommendationOrder, (one) => one);
}

export function recommendationRoutes(recommendations: RecommendationAdmission): Route[] {
  const { volumes } = recommendations;
  return [
    route({
      method: 'GET',
      path: PATH,
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
      handle: whileEnabled(volumes, (request) => list(recommendations, request)),
    }),
    route({
      method: 'POST',
      path: `${PATH}/{id}/apply`,
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
      handle: whileEnabled(volumes, async ({ caller, params, body }) => {
        const sent = body as Draft<typeof applyBody> | undefined;
        const outcome = await applyRecommendation(
          recommendations,
          caller,
          params['id'] ?? '',
          sent?.parameters,
        );
        return writeReply(outcome);
      }),
    }),
  ];
}
