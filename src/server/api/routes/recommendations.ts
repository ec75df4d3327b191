import { RECOMMENDATIONS } from '../../../core/operations/recommendations.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import { applyBody } from '../../../core/contract/volume-body.ts';
import { recommendationOrder } from '../../../core/planner/recommendations.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { filterRejection } from '../../../core/rules/recommendation.ts';
import {
  applyRecommendation,
  listRecommendations,
  type RecommendationAdmission,
} from '../../admission/recommendations.ts';
import { pageReply, pageRequest } from '../paging.ts';
import { type Reply, type Route, type RouteRequest, serve } from '../route.ts';
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
    serve(
      RECOMMENDATIONS.list,
      whileEnabled(volumes, (request) => list(recommendations, request)),
    ),
    serve(
      RECOMMENDATIONS.apply,
      whileEnabled(volumes, async ({ caller, params, body }) => {
        const sent = body as Draft<typeof applyBody> | undefined;
        const outcome = await applyRecommendation(
          recommendations,
          caller,
          params['id'] ?? '',
          sent?.parameters,
        );
        return writeReply(outcome);
      }),
    ),
  ];
}
