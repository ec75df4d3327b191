import type { backupBody } from '../../../core/contract/order-bodies.ts';
import { BACKUPS } from '../../../core/operations/backups.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../admission/admission.ts';
import { backupNotFound, findBackup } from '../../admission/backup-stored.ts';
import { createBackup } from '../../admission/create-backup.ts';
import { deleteBackup } from '../../admission/delete-backup.ts';
import { exportBackup, importBackup } from '../../admission/import-backup.ts';
import { restoreBackup, restoreBodyRejection } from '../../admission/restore-backup.ts';
import { pageReply, pageRequest, readPage } from '../paging.ts';
import { type Reply, type Route, type RouteRequest, serve } from '../route.ts';
import { guardedReply, writeReply } from '../write-reply.ts';
import { updateOptions } from './deployments.ts';

const PATH = '/api/v1/backups';
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
  return [serve(BACKUPS.list, list), serve(BACKUPS.read, read), serve(BACKUPS.exportDocument, readExport)];
}

export function backupRoutes(admission: Admission): Route[] {
  return [
    ...readRoutes(),
    serve(BACKUPS.create, async ({ caller, body }) =>
      writeReply(await createBackup(admission, caller, body as Draft<typeof backupBody>)),
    ),
    serve(BACKUPS.importDocument, async ({ caller, body }) =>
      writeReply(await importBackup(admission, caller, body)),
    ),
    serve(BACKUPS.restore, (request) => restore(admission, request)),
    serve(BACKUPS.remove, (request) =>
      guardedReply(request, (ifMatch) =>
        deleteBackup(admission, request.caller, request.params['id'] ?? '', ifMatch),
      ),
    ),
  ];
}
