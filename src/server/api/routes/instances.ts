import { INSTANCES } from '../../../core/operations/instances.ts';
import type { DeploymentRecord } from '../../../core/model/deployment.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Admission } from '../../writes/admission.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf, prefixOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { openChannelTo, toldInside } from './instance-channel.ts';
import { runCommand } from './instance-exec.ts';
import { instanceNotFound, instanceView } from '../../reads/instance.ts';
import { instanceDetail } from './instance-detail.ts';
import { streamLogs } from './instance-logs.ts';
import type { FollowSource } from './log-follow.ts';
import { failures, previousLogs } from './previous-logs.ts';

interface Chosen {
  readonly name: string;
  readonly deployment: DeploymentRecord;
  readonly instances: readonly Stored<InstanceRecord>[];
}

type InDeployment = Pick<RequestFor<typeof INSTANCES.list>, 'store' | 'params'>;

/** The instances of `{name}`; with an id, that one alone. */
function instancesOf({ store, params }: InDeployment, instance?: string): Chosen | Rejection {
  const nameOrId = params.name;
  const { stored, field } = findDeployment(store, nameOrId);
  if (stored === undefined) return deploymentNotFound(field, nameOrId);
  const { record: deployment } = stored;
  const { name } = deployment.spec;
  const instances = store.collection('instances').listUnder(prefixOf('instances', name));
  if (instance === undefined) return { name, deployment, instances };
  const one = instances.filter(({ record }) => record.id === instance);
  return one.length === 0 ? instanceNotFound(instance) : { name, deployment, instances: one };
}

/** Where a command is run: without a name the stable instances are meant; a canary is entered by its id. */
function meantBy(request: InDeployment, instance: string | undefined): readonly InstanceRecord[] | Rejection {
  const chosen = instancesOf(request, instance);
  if (isRejection(chosen)) return chosen;
  return chosen.instances
    .map(({ record }) => record)
    .filter((record) => record.canary !== true || instance !== undefined);
}

/** The instances at any time, for a log that is followed; undefined when the deployment and all of them are gone. */
function joining(store: TenantStore, name: string): ReturnType<FollowSource['instances']> {
  const instances = store.collection('instances').listUnder(prefixOf('instances', name));
  if (instances.length === 0 && store.get('deployments', idOf('deployments', name)) === undefined)
    return undefined;
  return instances.map(({ id, record }) => ({ record, observation: store.get('observations', id)?.record }));
}

async function list(
  dispatch: Dispatch,
  request: RequestFor<typeof INSTANCES.list>,
): Promise<ReplyTo<typeof INSTANCES.list>> {
  const chosen = instancesOf(request);
  if (isRejection(chosen)) return chosen;
  const { store, query } = request;
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const { after } = page;
  const read = chosen.instances
    .filter(({ record }) => after === undefined || record.id > after)
    .slice(0, page.limit + 1);
  const path = `/api/v1/deployments/${chosen.name}/instances`;
  const nodes = [...new Set(read.map(({ record }) => record.nodeId))];
  const usage = await dispatch.usageOn(store.tenantId, nodes);
  return pageReply(
    page,
    path,
    query,
    read,
    ({ record }) => record.id,
    (one) => instanceView(store, one, usage.get(one.record.id)),
  );
}

async function read(
  dispatch: Dispatch,
  request: RequestFor<typeof INSTANCES.read>,
): Promise<ReplyTo<typeof INSTANCES.read>> {
  const { instance } = request.params;
  const chosen = instancesOf(request, instance);
  if (isRejection(chosen)) return chosen;
  const [stored] = chosen.instances;
  if (stored === undefined) return instanceNotFound(instance);
  return { status: 200, body: await instanceDetail(request.store, dispatch, chosen.deployment, stored) };
}

export function instanceRoutes(admission: Admission, dispatch: Dispatch): Route[] {
  return [
    serve(INSTANCES.list, (request) => list(dispatch, request)),
    serve(INSTANCES.read, (request) => read(dispatch, request)),
    serve(INSTANCES.failures, failures),
    serve(INSTANCES.logs, async (request) => {
      const previous = booleanParameter(request.query, 'previous');
      if (isRejection(previous)) return previous;
      if (previous) {
        const { stored, field } = findDeployment(request.store, request.params.name);
        if (stored === undefined) return deploymentNotFound(field, request.params.name);
        return await previousLogs(request, stored.record);
      }
      const chosen = instancesOf(request, request.query.instance);
      if (isRejection(chosen)) return chosen;
      return streamLogs(
        dispatch,
        request,
        chosen.instances.map(({ record }) => record),
        request.query.instance === undefined ? () => joining(request.store, chosen.name) : undefined,
      );
    }),
    serve(INSTANCES.exec, (request) => {
      const meant = meantBy(request, request.body.instance);
      return isRejection(meant) ? meant : runCommand(admission, dispatch, request, meant);
    }),
    serve(INSTANCES.channel, (request) => {
      const meant = meantBy(request, request.query.instance);
      const opened = isRejection(meant) ? meant : openChannelTo(admission, dispatch, request, meant);
      return isRejection(opened) && request.headers.origin !== undefined ? toldInside(opened) : opened;
    }),
  ];
}
