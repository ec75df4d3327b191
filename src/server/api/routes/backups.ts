import { deploymentWritten } from '../../../core/contract/answers/deployment.ts';
import {
  backup,
  backupDeleted,
  backupDocument,
  backupSummary,
  backupWritten,
} from '../../../core/contract/answers/history.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import { backupDocumentShape } from '../../../core/contract/backup-document.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../admission/admission.ts';
import { backupNotFound, findBackup } from '../../admission/backup-stored.ts';
import { backupBody, createBackup } from '../../admission/create-backup.ts';
import { deleteBackup } from '../../admission/delete-backup.ts';
import { exportBackup, importBackup } from '../../admission/import-backup.ts';
import { restoreBackup, restoreBody, restoreBodyRejection } from '../../admission/restore-backup.ts';
import { pageReply, pageRequest, readPage } from '../paging.ts';
import { LIST_QUERY, type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { guardedReply, writeReply } from '../write-reply.ts';
import { DEPLOYMENT_CODES } from './deployment-codes.ts';
import { DRY_RUN, updateOptions } from './deployments.ts';

const PATH = '/api/v1/backups';
/** A backup holds every archived version: what was exported is taken back. */
const MAX_BACKUP_MEMBERS = 40_000;

async function list({ store, query }: RouteRequest): Promise<Reply> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const entries = await readPage(page, (options) => store.rangeCold('backup-summaries', '', options));
  return pageReply(
    page,
    PATH,
    query,
    entries,
    ({ id }) => id,
    ({ record }) => record,
  );
}

async function read({ store, params }: RouteRequest): Promise<Reply> {
  const id = params['id'] ?? '';
  const stored = await findBackup(store, id);
  if (stored === undefined) return backupNotFound(id);
  const { record, modRevision: revision } = stored;
  return { status: 200, body: { ...record, revision }, headers: { etag: `"${revision}"` } };
}

async function readExport({ store, params }: RouteRequest): Promise<Reply> {
  const id = params['id'] ?? '';
  const stored = await findBackup(store, id);
  if (stored === undefined) return backupNotFound(id);
  const name = `${stored.record.deploymentName}-${id}.json`;
  return {
    status: 200,
    body: exportBackup(stored.record),
    headers: { 'content-disposition': `attachment; filename="${name}"` },
  };
}

async function restore(admission: Admission, request: RouteRequest): Promise<Reply> {
  const options = updateOptions(request);
  if (isRejection(options)) return options;
  const rejection = restoreBodyRejection(request.body);
  if (rejection) return rejection;
  return writeReply(await restoreBackup(admission, request.caller, request.params['id'] ?? '', options));
}

function readRoutes(): Route[] {
  const shared = { method: 'GET', tag: 'Backups', permission: 'read', tenant: 'credential' } as const;
  return [
    route({
      ...shared,
      path: PATH,
      summary: 'List backups without their contents, oldest first',
      query: LIST_QUERY,
      codes: [],
      success: {
        status: 200,
        description: 'Backups; the next page is in the Link header.',
        answer: listOf(backupSummary),
      },
      handle: list,
    }),
    route({
      ...shared,
      path: `${PATH}/{id}`,
      summary: 'Read a backup with its contents',
      codes: ['backup_not_found'],
      success: { status: 200, description: 'The backup.', answer: backup },
      handle: read,
    }),
    route({
      ...shared,
      path: `${PATH}/{id}/export`,
      summary: 'A self-contained document that another control plane can import',
      codes: ['backup_not_found'],
      success: {
        status: 200,
        description: 'The document, with its digest.',
        answer: backupDocument,
      },
      handle: readExport,
    }),
  ];
}

export function backupRoutes(admission: Admission): Route[] {
  const shared = { tag: 'Backups', permission: 'deploy', tenant: 'credential' } as const;
  const restored = DEPLOYMENT_CODES.update.filter((code) => code !== 'deployment_not_found');
  return [
    ...readRoutes(),
    route({
      ...shared,
      method: 'POST',
      path: PATH,
      summary: 'Copy the configuration of a deployment as it is now; no volume bytes are read',
      body: { shape: backupBody },
      codes: ['name_required', 'deployment_not_found', 'idempotency_key_conflict', 'header_invalid'],
      success: { status: 201, description: 'The backup.', answer: backupWritten },
      handle: async ({ caller, body }) =>
        writeReply(await createBackup(admission, caller, body as Draft<typeof backupBody>)),
    }),
    route({
      ...shared,
      method: 'POST',
      path: `${PATH}/import`,
      summary: 'Store an exported document as a new backup of this tenant',
      body: { shape: backupDocumentShape, unchecked: true, maxMembers: MAX_BACKUP_MEMBERS },
      codes: [
        'backup_invalid',
        'scaling_policy_invalid',
        'canary_invalid',
        ...restored,
        'idempotency_key_conflict',
      ],
      success: { status: 201, description: 'The backup.', answer: backupWritten },
      handle: async ({ caller, body }) => writeReply(await importBackup(admission, caller, body)),
    }),
    route({
      ...shared,
      method: 'POST',
      path: `${PATH}/{id}/restore`,
      summary: 'Store the spec of a backup again: the deployment is created, or replaced whole',
      query: DRY_RUN,
      body: { shape: restoreBody, optional: true, unchecked: true },
      codes: ['backup_not_found', ...restored, 'idempotency_key_conflict'],
      success: {
        status: 200,
        description: 'The deployment; 201 when it was created.',
        answer: deploymentWritten,
        also: { 201: 'It was created.' },
      },
      handle: (request) => restore(admission, request),
    }),
    route({
      ...shared,
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'Delete a backup',
      codes: ['backup_not_found', 'revision_mismatch', 'header_invalid'],
      success: {
        status: 200,
        description: 'Deleted; what it was, without its contents.',
        answer: backupDeleted,
      },
      handle: (request) =>
        guardedReply(request, (ifMatch) =>
          deleteBackup(admission, request.caller, request.params['id'] ?? '', ifMatch),
        ),
    }),
  ];
}
