import { deploymentWritten } from '../contract/answers/deployment.ts';
import {
  backup,
  backupDeleted,
  backupDocument,
  backupSummary,
  backupWritten,
} from '../contract/answers/history.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { backupDocumentShape } from '../contract/backup-document.ts';
import { backupBody, nothing } from '../contract/order-bodies.ts';
import { DRY_RUN, LIST_QUERY } from './queries.ts';
import { DEPLOYMENT_CODES } from './workload-codes.ts';
import { operation } from './operation.ts';

/** A backup holds every archived version: what was exported is taken back. */
const MAX_BACKUP_MEMBERS = 40_000;
const RESTORED = DEPLOYMENT_CODES.update.filter((code) => code !== 'deployment_not_found');

export const BACKUPS = {
  list: operation({
    method: 'GET',
    path: '/api/v1/backups',
    summary: 'List backups without their contents, oldest first',
    tag: 'Backups',
    permission: 'read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: [],
    success: {
      status: 200,
      description: 'Backups; the next page is in the Link header.',
      answer: listOf(backupSummary),
    },
  }),
  read: operation({
    method: 'GET',
    path: '/api/v1/backups/{id}',
    summary: 'Read a backup with its contents',
    tag: 'Backups',
    permission: 'read',
    tenant: 'credential',
    codes: ['backup_not_found'],
    success: { status: 200, description: 'The backup.', answer: backup },
  }),
  exportDocument: operation({
    method: 'GET',
    path: '/api/v1/backups/{id}/export',
    summary: 'A self-contained document that another control plane can import',
    tag: 'Backups',
    permission: 'read',
    tenant: 'credential',
    codes: ['backup_not_found'],
    success: {
      status: 200,
      description: 'The document, with its digest.',
      answer: backupDocument,
    },
  }),
  create: operation({
    method: 'POST',
    path: '/api/v1/backups',
    summary: 'Copy the configuration of a deployment as it is now; no volume bytes are read',
    tag: 'Backups',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: backupBody },
    codes: ['name_required', 'deployment_not_found', 'idempotency_key_conflict', 'header_invalid'],
    success: { status: 201, description: 'The backup.', answer: backupWritten },
  }),
  importDocument: operation({
    method: 'POST',
    path: '/api/v1/backups/import',
    summary: 'Store an exported document as a new backup of this tenant',
    tag: 'Backups',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: backupDocumentShape, unchecked: true, maxMembers: MAX_BACKUP_MEMBERS },
    codes: [
      'backup_invalid',
      'scaling_policy_invalid',
      'canary_invalid',
      ...RESTORED,
      'idempotency_key_conflict',
    ],
    success: { status: 201, description: 'The backup.', answer: backupWritten },
  }),
  restore: operation({
    method: 'POST',
    path: '/api/v1/backups/{id}/restore',
    summary: 'Store the spec of a backup again: the deployment is created, or replaced whole',
    tag: 'Backups',
    permission: 'deploy',
    tenant: 'credential',
    query: DRY_RUN,
    body: { shape: nothing, optional: true, unchecked: true },
    codes: ['backup_not_found', ...RESTORED, 'idempotency_key_conflict'],
    success: {
      status: 200,
      description: 'The deployment; 201 when it was created.',
      answer: deploymentWritten,
      also: { 201: 'It was created.' },
    },
  }),
  remove: operation({
    method: 'DELETE',
    path: '/api/v1/backups/{id}',
    summary: 'Delete a backup',
    tag: 'Backups',
    permission: 'deploy',
    tenant: 'credential',
    codes: ['backup_not_found', 'revision_mismatch', 'header_invalid'],
    success: {
      status: 200,
      description: 'Deleted; what it was, without its contents.',
      answer: backupDeleted,
    },
  }),
};
