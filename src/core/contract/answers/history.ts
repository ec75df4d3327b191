import { shape } from '../../schema/shape.ts';
import { fieldChange } from './placement.ts';
import {
  announced,
  freeMap,
  imageDigest,
  integer,
  listOf,
  number,
  optional,
  revision,
  text,
  time,
} from './field-shapes.ts';
import { deploymentSpec } from './workload.ts';

const subject = shape({ type: 'object', fields: { kind: text, name: text } });

export const event = shape({
  type: 'object',
  named: 'Event',
  fields: { id: text, at: time, kind: text, tenantId: text, subject, message: text, details: freeMap },
});

export const auditLine = shape({
  type: 'object',
  named: 'Audit',
  fields: {
    id: text,
    at: time,
    actor: text,
    actorTenantId: optional(text),
    role: text,
    tenantId: text,
    action: text,
    subject,
    result: { type: 'string', values: ['accepted'] },
    requestId: text,
    source: optional(text),
    forwardedFor: optional(text),
    details: optional(freeMap),
  },
});

const archiveHeading = {
  version: integer,
  change: { type: 'string', values: ['created', 'updated', 'rotated', 'rolled-back', 'restored', 'deleted'] },
  at: time,
  by: text,
  specHash: text,
  imageDigest,
} as const;

export const archive = shape({
  type: 'object',
  named: 'Archive',
  fields: { ...archiveHeading, spec: deploymentSpec },
});

export const archiveDifference = shape({
  type: 'object',
  named: 'ArchiveDifference',
  fields: {
    name: text,
    from: { type: 'object', fields: archiveHeading },
    to: { type: 'object', fields: archiveHeading },
    differences: listOf(fieldChange),
  },
});

const backupHeading = {
  id: text,
  deploymentName: text,
  version: integer,
  specHash: text,
  createdAt: time,
  createdBy: text,
  imported: { type: 'object', optional: true, fields: { id: text, createdAt: time } },
} as const;

const backupContent = shape({
  type: 'object',
  named: 'BackupContent',
  fields: {
    spec: deploymentSpec,
    imageDigest,
    scalingPolicy: {
      type: 'object',
      nullable: true,
      fields: { minReplicas: integer, maxReplicas: integer, targetCpuPercent: number, cooldown: text },
    },
    canary: {
      type: 'object',
      nullable: true,
      fields: { replicas: integer, weight: optional(integer), spec: deploymentSpec, imageDigest },
    },
    revisions: listOf(archive),
  },
});

export const backup = shape({
  type: 'object',
  named: 'Backup',
  fields: { ...backupHeading, revision, content: backupContent },
});

export const backupWritten = shape({
  type: 'object',
  named: 'BackupWritten',
  fields: { ...backupHeading, revision, content: backupContent, ...announced },
});

const summaryFields = { ...backupHeading, image: text, revisions: integer, sizeBytes: integer } as const;

export const backupSummary = shape({ type: 'object', named: 'BackupSummary', fields: summaryFields });

export const backupDeleted = shape({
  type: 'object',
  named: 'BackupDeleted',
  fields: { ...summaryFields, revision, ...announced },
});

export const backupDocument = shape({
  type: 'object',
  named: 'BackupDocument',
  fields: {
    format: text,
    formatVersion: integer,
    backup: {
      type: 'object',
      fields: { id: text, deploymentName: text, version: integer, createdAt: time, content: backupContent },
    },
    sha256: text,
  },
});
