import type { BackupContent, BackupRecord } from '../model/backup.ts';
import { BACKUP_REVISIONS } from '../model/backup.ts';
import { pinOf, type Pinned } from '../model/spec-snapshot.ts';
import { isRecord } from '../model/values.ts';
import { received, redacted } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { checkBody, type Shape, shape } from '../schema/shape.ts';

const FORMAT = 'berth-backup';
/** Raised when an older program could not restore the document. */
const FORMAT_VERSION = 1;

const text = shape({ type: 'string' });

const spec = shape({
  type: 'any',
  schema: { $ref: '#/components/schemas/DeploymentDescription' },
  sensitive: true,
});

const revision = shape({
  type: 'object',
  fields: {
    version: { type: 'integer' },
    change: {
      type: 'string',
      values: ['created', 'updated', 'rotated', 'rolled-back', 'restored', 'deleted'],
    },
    at: text,
    by: text,
    spec,
    specHash: text,
    imageDigest: text,
  },
});

/** Their own shapes, which hold only when they are not null. */
const ADDED = {
  scalingPolicy: shape({
    type: 'object',
    fields: {
      minReplicas: { type: 'integer' },
      maxReplicas: { type: 'integer' },
      targetCpuPercent: { type: 'number' },
      cooldown: { type: 'string' },
    },
  }),
  canary: shape({
    type: 'object',
    fields: {
      replicas: { type: 'integer' },
      weight: { type: 'integer' },
      spec,
      imageDigest: text,
    },
  }),
} as const;

const content = shape({
  type: 'object',
  fields: {
    spec,
    imageDigest: text,
    scalingPolicy: { type: 'any', schema: { type: ['object', 'null'] } },
    canary: { type: 'any', schema: { type: ['object', 'null'] }, sensitive: true },
    revisions: { type: 'list', items: revision },
  },
});

const backup = shape({
  type: 'object',
  fields: { id: text, deploymentName: text, version: { type: 'integer' }, createdAt: text, content },
});

export const backupDocumentShape = shape({
  type: 'object',
  fields: {
    format: { type: 'string', values: [FORMAT] },
    formatVersion: { type: 'integer', form: { enum: [FORMAT_VERSION] }, description: `${FORMAT_VERSION}.` },
    backup,
    sha256: { type: 'string', description: 'Over the canonical JSON of the document without this field.' },
  },
});

/** What leaves the control plane: everything that a restore elsewhere needs, and nothing of who made the backup. */
export interface BackupDocument {
  readonly format: string;
  readonly formatVersion: number;
  readonly backup: {
    readonly id: string;
    readonly deploymentName: string;
    readonly version: number;
    readonly createdAt: string;
    readonly content: BackupContent;
  };
  readonly sha256: string;
}

export function undigestedDocument(record: BackupRecord): Omit<BackupDocument, 'sha256'> {
  const { id, deploymentName, version, createdAt } = record;
  return {
    format: FORMAT,
    formatVersion: FORMAT_VERSION,
    backup: { id, deploymentName, version, createdAt, content: record.content },
  };
}

export function invalidBackup(field: string, got: string, why: string, expected?: string): Rejection {
  return reject('backup_invalid', {
    field,
    received: got,
    why,
    ...(expected === undefined ? {} : { expected }),
  });
}

/** Absent where the registry could not be asked. */
const OPTIONAL: ReadonlySet<string> = new Set(['imageDigest', 'weight']);

/** A shape lets fields be absent; a document that was exported has them all. */
function missingField(expected: Shape, value: unknown, path: string): string | undefined {
  if (expected.type === 'list' && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const missing = missingField(expected.items, item, `${path}[${index}]`);
      if (missing !== undefined) return missing;
    }
  }
  if (expected.type !== 'object' || !isRecord(value)) return undefined;
  for (const [key, field] of Object.entries(expected.fields)) {
    const at = path === '' ? key : `${path}.${key}`;
    if (!Object.hasOwn(value, key)) {
      if (OPTIONAL.has(key)) continue;
      return at;
    }
    const missing = missingField(field, value[key], at);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

function shapeProblem(body: unknown): Rejection | undefined {
  const wrong = checkBody(backupDocumentShape, body);
  if (wrong) return invalidBackup(wrong.field, wrong.received, wrong.why, wrong.expected);
  const missing = missingField(backupDocumentShape, body, '');
  if (missing === undefined) return undefined;
  return invalidBackup(
    missing,
    '(absent)',
    `An exported document has ${missing}; this one has been changed.`,
  );
}

const ID = /^bak_[0-9a-z]{1,40}$/;
const TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}\.\d{3}Z$/;
const ACTOR = /^[A-Za-z0-9_-]{1,64}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const IMAGE_DIGEST = /^sha256:[0-9a-f]{64}$/;

interface TextForm {
  readonly field: string;
  readonly value: string;
  readonly form: RegExp;
  readonly expected: string;
}

function pinForm(path: string, { imageDigest }: Pinned): readonly TextForm[] {
  if (imageDigest === undefined) return [];
  const expected = 'sha256: and 64 hexadecimal digits';
  return [{ field: `${path}.imageDigest`, value: imageDigest, form: IMAGE_DIGEST, expected }];
}

/** Every text outside the specs has a closed form, so that a document made by hand carries nothing but a backup. */
function textForms({ backup: { id, createdAt, content: inside } }: BackupDocument): TextForm[] {
  const time = 'a time such as 2026-01-31T12:00:00.000Z';
  return [
    { field: 'backup.id', value: id, form: ID, expected: 'bak_…' },
    { field: 'backup.createdAt', value: createdAt, form: TIME, expected: time },
    ...pinForm('backup.content', inside),
    ...(inside.canary === null ? [] : pinForm('backup.content.canary', inside.canary)),
    ...inside.revisions.flatMap(({ at, by, specHash, imageDigest }, index) => {
      const path = `backup.content.revisions[${index}]`;
      return [
        { field: `${path}.at`, value: at, form: TIME, expected: time },
        { field: `${path}.by`, value: by, form: ACTOR, expected: 'the id of a token, or system' },
        { field: `${path}.specHash`, value: specHash, form: DIGEST, expected: '64 hexadecimal digits' },
        ...pinForm(path, pinOf(imageDigest)),
      ];
    }),
  ];
}

function formProblem(document: BackupDocument): Rejection | undefined {
  for (const { field, value, form, expected } of textForms(document)) {
    if (!form.test(value)) {
      return invalidBackup(field, redacted(value), `${field} is not of its form.`, expected);
    }
  }
  return undefined;
}

function nameProblem(deploymentName: string, spec: unknown, field: string): Rejection | undefined {
  const name = isRecord(spec) ? spec['name'] : undefined;
  if (name === deploymentName) return undefined;
  return invalidBackup(
    `${field}.name`,
    redacted(name),
    'A backup is of one deployment; every spec in it has its name.',
    deploymentName,
  );
}

function addedProblem(inside: BackupContent): Rejection | undefined {
  for (const field of ['scalingPolicy', 'canary'] as const) {
    const value: unknown = inside[field];
    if (value === null) continue;
    const at = `backup.content.${field}`;
    const wrong = checkBody(ADDED[field], value);
    if (wrong) {
      const within = wrong.field === 'body' ? at : `${at}.${wrong.field}`;
      return invalidBackup(within, redacted(value), `${within} is not of its form.`, wrong.expected);
    }
    const missing = missingField(ADDED[field], value, at);
    if (missing !== undefined) {
      return invalidBackup(
        missing,
        '(absent)',
        `An exported document has ${missing}; this one has been changed.`,
      );
    }
  }
  return undefined;
}

function contentProblem({ backup: { deploymentName, version, content: inside } }: BackupDocument) {
  const added = addedProblem(inside);
  if (added) return added;
  const { revisions } = inside;
  if (revisions.length > BACKUP_REVISIONS) {
    const why = 'A backup takes along a bounded part of the archive.';
    return invalidBackup(
      'backup.content.revisions',
      `${revisions.length} versions`,
      why,
      `at most ${BACKUP_REVISIONS} versions`,
    );
  }
  let last = 0;
  for (const [index, entry] of revisions.entries()) {
    const field = `backup.content.revisions[${index}]`;
    if (entry.version <= last || entry.version > version) {
      const why = 'Versions rise, and none is newer than the backup.';
      return invalidBackup(`${field}.version`, received(entry.version), why);
    }
    last = entry.version;
    const named = nameProblem(deploymentName, entry.spec, `${field}.spec`);
    if (named) return named;
  }
  return (
    nameProblem(deploymentName, inside.spec, 'backup.content.spec') ??
    (inside.canary === null
      ? undefined
      : nameProblem(deploymentName, inside.canary.spec, 'backup.content.canary.spec'))
  );
}

/**
 * Everything about an imported document that can be said without a digest and without the rules of deployments: it is
 * a document that an export could have made. Specs inside are still unknown JSON after this.
 */
export function decodeBackupDocument(
  body: unknown,
  digestOf: (document: Omit<BackupDocument, 'sha256'>) => string,
): BackupDocument | Rejection {
  const { format, formatVersion } = isRecord(body) ? body : {};
  if (format !== FORMAT) {
    const why = 'The document does not say that it is an exported backup.';
    return invalidBackup('format', redacted(format), why, FORMAT);
  }
  if (formatVersion !== FORMAT_VERSION) {
    const why = `This control plane reads version ${FORMAT_VERSION} of the format.`;
    return invalidBackup('formatVersion', redacted(formatVersion), why, String(FORMAT_VERSION));
  }
  const misshapen = shapeProblem(body);
  if (misshapen) return misshapen;
  const document = body as BackupDocument;
  const { sha256, ...rest } = document;
  if (digestOf(rest) !== sha256) {
    const why = 'The digest is not that of the document: it was changed or cut after the export.';
    return invalidBackup('sha256', redacted(sha256), why);
  }
  return formProblem(document) ?? contentProblem(document) ?? document;
}
