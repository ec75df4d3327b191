import type { InstanceRecord } from '../../../core/model/instance.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../admission/admission.ts';
import { findDeployment } from '../../admission/deployment-stored.ts';
import { deploymentNotFound } from '../../admission/deployment-write.ts';
import type { Dispatch } from '../../dispatch/dispatch.ts';
import type { Stored } from '../../store/collection.ts';
import { joinId } from '../../store/keys.ts';
import type { TenantStore } from '../../store/store.ts';
import { pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Route, route } from '../route.ts';

/** The record as wanted, with what the node's agent last saw. */
export function instanceView(
  store: TenantStore,
  { id, record }: Stored<InstanceRecord>,
): Record<string, unknown> {
  const { tenantId: _own, ...wanted } = record;
  const {
    phase,
    id: _same,
    specHash: observedSpecHash,
    secretsVersion: observedSecretsVersion,
    ...seen
  } = store.get('observations', id)?.record ?? { phase: 'pending' as const };
  return {
    ...wanted,
    state: record.wanted === 'stop' && phase !== 'removed' ? 'stopping' : phase,
    ...seen,
    ...(observedSpecHash === undefined ? {} : { observedSpecHash }),
    ...(observedSecretsVersion === undefined ? {} : { observedSecretsVersion }),
  };
}

export function instanceRoutes(_admission: Admission, _dispatch: Dispatch): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/deployments/{name}/instances',
      summary: 'The instances of a deployment, as wanted and as observed',
      tag: 'Deployments',
      permission: 'read',
      tenant: 'credential',
      query: LIST_QUERY,
      codes: ['deployment_not_found'],
      success: {
        status: 200,
        description: 'Instances, by id.',
        schema: { type: 'array', items: { $ref: '#/components/schemas/Instance' } },
      },
      handle: ({ store, params, query }) => {
        const name = params['name'] ?? '';
        const { stored, field } = findDeployment(store, name);
        if (stored === undefined) return deploymentNotFound(field, name);
        const page = pageRequest(query);
        if (isRejection(page)) return page;
        const { after } = page;
        const read = store
          .collection('instances')
          .listUnder(joinId(stored.record.spec.name))
          .filter(({ record }) => after === undefined || record.id > after);
        const path = `/api/v1/deployments/${encodeURIComponent(name)}/instances`;
        return pageReply(
          page,
          path,
          query,
          read.slice(0, page.limit + 1),
          ({ record }) => record.id,
          (one) => instanceView(store, one),
        );
      },
    }),
  ];
}
