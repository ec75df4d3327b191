import { type Answer, exactly } from '../../../core/schema/shape.ts';
import type { backupSummary } from '../../../core/contract/answers/history.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { BACKUPS } from '../../../core/operations/backups.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../writes/admission.ts';
import { backupNotFound, findBackup } from '../../reads/backup.ts';
import { createBackup } from '../../writes/backups/create-backup.ts';
import { deleteBackup } from '../../writes/backups/delete-backup.ts';
import { exportBackup, importBackup } from '../../writes/backups/import-backup.ts';
import { restoreBackup, restoreBodyRejection } from '../../writes/backups/restore-backup.ts';
import { pageReply, pageRequest, readPage } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { guardedReply, writeReply } from '../write-reply.ts';
import { updateOptions } from './deployments.ts';

const asSummary = exactly<Answer<typeof backupSummary>>();
const asBackup = exactly<AnswerOf<typeof BACKUPS.read>>();
const asDocument = exactly<AnswerOf<typeof BACKUPS.exportDocument>>();
async function list({
  store,
  query,
}: RequestFor<typeof BACKUPS.list>): Promise<ReplyTo<typeof BACKUPS.list>> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const entries = await readPage(page, (options) => store.rangeCold('backup-summaries', '', options));
  return pageReply(
    page,
    BACKUPS.list.path,
    query,
    entries,
    ({ id }) => id,
    ({ record }) => asSummary(record),
  );
}

async function read({
  store,
  params,
}: RequestFor<typeof BACKUPS.read>): Promise<ReplyTo<typeof BACKUPS.read>> {
  const id = params.id;
  const stored = await findBackup(store, id);
  if (stored === undefined) return backupNotFound(id);
  const { record, modRevision: revision } = stored;
  return { status: 200, body: asBackup({ ...record, revision }), headers: { etag: `"${revision}"` } };
}

async function readExport({
  store,
  params,
}: RequestFor<typeof BACKUPS.exportDocument>): Promise<ReplyTo<typeof BACKUPS.exportDocument>> {
  const id = params.id;
  const stored = await findBackup(store, id);
  if (stored === undefined) return backupNotFound(id);
  const name = `${stored.record.deploymentName}-${id}.json`;
  return {
    status: 200,
    body: asDocument(exportBackup(stored.record)),
    headers: { 'content-disposition': `attachment; filename="${name}"` },
  };
}

async function restore(
  admission: Admission,
  request: RequestFor<typeof BACKUPS.restore>,
): Promise<ReplyTo<typeof BACKUPS.restore>> {
  const options = updateOptions(request);
  if (isRejection(options)) return options;
  const rejection = restoreBodyRejection(request.body);
  if (rejection) return rejection;
  return writeReply(await restoreBackup(admission, request.caller, request.params.id, options));
}

function readRoutes(): Route[] {
  return [serve(BACKUPS.list, list), serve(BACKUPS.read, read), serve(BACKUPS.exportDocument, readExport)];
}

export function backupRoutes(admission: Admission): Route[] {
  return [
    ...readRoutes(),
    serve(BACKUPS.create, async ({ caller, body }) =>
      writeReply(await createBackup(admission, caller, body)),
    ),
    serve(BACKUPS.importDocument, async ({ caller, body }) =>
      writeReply(await importBackup(admission, caller, body)),
    ),
    serve(BACKUPS.restore, (request) => restore(admission, request)),
    serve(BACKUPS.remove, (request) =>
      guardedReply(request, (ifMatch) => deleteBackup(admission, request.caller, request.params.id, ifMatch)),
    ),
  ];
}
