import { type Answer, exactly } from '../../../core/schema/shape.ts';
import type { recommendation } from '../../../core/contract/answers/volume.ts';
import { RECOMMENDATIONS } from '../../../core/operations/recommendations.ts';
import { recommendationOrder } from '../../../core/plan/scaling/recommendations.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { filterRejection } from '../../../core/rules/recommendation.ts';
import {
  applyRecommendation,
  listRecommendations,
  type RecommendationAdmission,
} from '../../writes/deployments/recommendations.ts';
import { pageOf, pageReply, pageRequest } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { writeReply } from '../write-reply.ts';
import { whileEnabled } from './volumes.ts';

const asRecommendation = exactly<Answer<typeof recommendation>>();

function list(
  recommendations: RecommendationAdmission,
  { store, query }: RequestFor<typeof RECOMMENDATIONS.list>,
): ReplyTo<typeof RECOMMENDATIONS.list> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const { priority, type } = query;
  const unknown = filterRejection({ priority, type });
  if (unknown) return unknown;
  const fitting = listRecommendations(recommendations, store).filter(
    (one) =>
      (priority === undefined || one.priority === priority) && (type === undefined || one.type === type),
  );
  return pageReply(
    page,
    RECOMMENDATIONS.list.path,
    query,
    pageOf(page, fitting, recommendationOrder),
    recommendationOrder,
    asRecommendation,
  );
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
        const outcome = await applyRecommendation(recommendations, caller, params.id, body?.parameters);
        return writeReply(outcome);
      }),
    ),
  ];
}
