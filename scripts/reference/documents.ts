import { stringify } from 'yaml';
import { deploymentBody } from '../../src/core/contract/deployment-body.ts';
import { jobBody } from '../../src/core/contract/job-body.ts';
import { networkBody } from '../../src/core/contract/network-body.ts';
import { scalingPolicyBody } from '../../src/core/contract/scaling-policy-body.ts';
import { secretDocumentBody } from '../../src/core/contract/secret-bodies.ts';
import { volumeBody } from '../../src/core/contract/volume-body.ts';
import type { Operation } from '../../src/core/operations/operation.ts';
import { DEPLOYMENTS } from '../../src/core/operations/deployments.ts';
import { JOBS } from '../../src/core/operations/jobs.ts';
import { NETWORKS } from '../../src/core/operations/networks.ts';
import { SCALING_POLICIES } from '../../src/core/operations/scaling-policies.ts';
import { SECRETS } from '../../src/core/operations/secrets.ts';
import { VOLUMES } from '../../src/core/operations/volumes.ts';
import { CATALOGUE, type RejectionCode } from '../../src/core/rejections/catalogue.ts';
import type { Shape } from '../../src/core/schema/shape.ts';
import { ruleOf, typeOf } from './field-rule.ts';
import { codesAt, type Field, fieldsOf } from './field-walk.ts';
import { prose } from './rejections.ts';

export interface DocumentKindPage {
  readonly kind: string;
  readonly file: string;
  readonly shape: Shape;
  readonly writes: readonly Operation[];
  readonly about: string;
  /** Fields that are those of a deployment, explained on its page. */
  readonly like?: Shape;
}

export const DOCUMENT_PAGES: readonly DocumentKindPage[] = [
  {
    kind: 'Deployment',
    file: 'deployment.md',
    shape: deploymentBody,
    writes: [DEPLOYMENTS.create, DEPLOYMENTS.update],
    about:
      'Containers of one image that are kept running. The guide has [the first one](../guide/first-deployment.md), [how commands, gates and ways in work](../guide/describing.md) and [what a container may do](../guide/containers.md).',
  },
  {
    kind: 'Job',
    file: 'job.md',
    shape: jobBody,
    writes: [JOBS.create, JOBS.update],
    like: deploymentBody,
    about: 'A container that runs to its end, once or by a schedule: [jobs](../guide/jobs.md).',
  },
  {
    kind: 'Network',
    file: 'network.md',
    shape: networkBody,
    writes: [NETWORKS.create],
    about: 'A network of one node, beside that of the tenant: [networks](../guide/networks.md).',
  },
  {
    kind: 'Volume',
    file: 'volume.md',
    shape: volumeBody,
    writes: [VOLUMES.create],
    about: 'Space for data that outlives containers: [volumes](../guide/volumes.md).',
  },
  {
    kind: 'Secret',
    file: 'secret.md',
    shape: secretDocumentBody,
    writes: [SECRETS.apply],
    about:
      'Keys that the secrets store is to make. A file holds no values; `berth secret write` takes them: [secrets](../guide/secrets.md).',
  },
  {
    kind: 'ScalingPolicy',
    file: 'scaling-policy.md',
    shape: scalingPolicyBody,
    writes: [SCALING_POLICIES.set],
    about:
      'How many instances a deployment has, by its load: [scaling](../guide/scaling.md). In a file it has `kind: ScalingPolicy` and the `name` of its deployment beside these fields.',
  },
];

/** As GitHub makes the address of a heading. */
const anchor = (path: string): string => path.toLowerCase().replace(/[^a-z0-9_-]/g, '');

const isShared = ({ like }: DocumentKindPage, { path, shape }: Field): boolean =>
  like?.type === 'object' &&
  like.fields[path.split(/[.[]/, 1)[0] ?? ''] !== undefined &&
  fieldsOf(like).some(
    (other) =>
      other.path === path &&
      other.shape.description === shape.description &&
      other.shape.ownCode === shape.ownCode,
  );

const cell = (text: string): string => text.replaceAll('|', '\\|');

function row(page: DocumentKindPage, field: Field): string {
  const { path, shape, required } = field;
  const target = `${isShared(page, field) ? 'deployment.md' : ''}#${anchor(path)}`;
  const absent = required ? '**required**' : cell(shape.absent ?? '');
  return `| [\`${path}\`](${target}) | ${typeOf(shape)} | ${absent} | ${cell(prose(shape.description ?? ''))} |`;
}

const codeLink = (code: RejectionCode): string => `[\`${code}\`](rejections.md#${code})`;

function section(field: Field, codes: readonly RejectionCode[]): string {
  const { path, shape, required, example } = field;
  const rule = ruleOf(shape);
  const lines = [
    ...(required
      ? ['- **Required**']
      : shape.absent === undefined
        ? []
        : [`- When absent: ${prose(shape.absent)}`]),
    ...(rule === '' ? [] : [`- Accepted: ${rule}`]),
    ...(codes.length === 0 ? [] : [`- Refused with: ${codes.map(codeLink).join(', ')}`]),
  ];
  const shown = example === undefined ? '' : `\n\`\`\`yaml\n${stringify(example, { lineWidth: 0 })}\`\`\`\n`;
  return `### \`${path}\`\n\n${typeOf(shape)}. ${prose(shape.description ?? '')}\n\n${lines.join('\n')}\n${shown}`;
}

export function codesOfKind({ writes }: DocumentKindPage): readonly RejectionCode[] {
  return [...new Set(writes.flatMap(({ codes }) => codes))];
}

export function documentReference(page: DocumentKindPage): string {
  const fields = fieldsOf(page.shape);
  const codes = codesOfKind(page);
  const told = fields.filter((field) => !isShared(page, field));
  const atFields = new Set(fields.flatMap((field) => codesAt(field, codes)));
  const whole = codes.filter((code) => !atFields.has(code));
  const shared =
    told.length === fields.length
      ? ''
      : ' Fields that a deployment has too are explained on [its page](deployment.md).';
  return `# ${page.kind}

Generated from the schemas; do not edit. ${page.about}${shared}

A field that is not listed is refused (\`field_unknown\`), and so is a value of another type (\`field_type_invalid\`) where no code is named.
\`berth apply -f FILE --dry-run\` says everything that is wrong with a document and stores nothing.

## Fields

| Field | Type | When absent | Meaning |
|---|---|---|---|
${fields.map((field) => row(page, field)).join('\n')}

## Field by field

${told.map((field) => section(field, codesAt(field, codes))).join('\n')}
## Refused for more than one field

${whole.map((code) => `- ${codeLink(code)}: ${prose(CATALOGUE[code].title)}`).join('\n')}
`;
}
