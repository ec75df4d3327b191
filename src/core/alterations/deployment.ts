import type { DeploymentDraft } from '../contract/deployment-body.ts';
import { SERVER_OWNED } from '../contract/server-owned.ts';
import { ingressDrafts, isList } from '../contract/ingress-drafts.ts';
import type { JobDraft } from '../contract/job-body.ts';
import type { Alteration } from '../model/announcement.ts';
import { canonicalJson } from '../model/canonical.ts';
import { isCountry } from '../model/countries.ts';
import { isEnginePrefix } from '../model/engine-prefix.ts';
import { isRecord } from '../model/values.ts';
import { received, redacted } from '../rejections/redaction.ts';
import { resolveVolumeNames, type VolumeIdOf } from './volume-names.ts';

export interface AlterationInput {
  /** Merged with what is stored, when there is something stored. */
  readonly draft: DeploymentDraft;
  /** The body as it was sent, for server-owned keys. */
  readonly body: Readonly<Record<string, unknown>>;
  /** 0 for a new deployment. */
  readonly storedSecretsVersion: number;
  /** The stored record as a GET shows it; absent for a new deployment. */
  readonly storedView?: Readonly<Record<string, unknown>>;
  /** Absent: volumes are named by their ids alone. */
  readonly volumeIdOf?: VolumeIdOf;
}

interface Altered<D = DeploymentDraft> {
  readonly draft: D;
  readonly alterations: readonly Alteration[];
}

type Step = (draft: DeploymentDraft, input: AlterationInput) => Altered;

const NOTHING: readonly Alteration[] = [];

function unchanged(draft: DeploymentDraft): Altered {
  return { draft, alterations: NOTHING };
}

function announced(draft: DeploymentDraft, ...alterations: Alteration[]): Altered {
  return { draft, alterations };
}

const kindDefault: Step = (draft) =>
  draft.kind === undefined
    ? announced(
        { ...draft, kind: 'Deployment' },
        { field: 'kind', from: '(absent)', to: 'Deployment', why: 'default kind of this route' },
      )
    : unchanged(draft);

const replicasDefault: Step = (draft) =>
  draft.replicas === undefined
    ? announced(
        { ...draft, replicas: 1 },
        { field: 'replicas', from: '(absent)', to: '1', why: 'default number of instances' },
      )
    : unchanged(draft);

/**
 * Docker's array prefixes mean the same as our two forms, so they are dropped rather than run as a program: all of
 * them at once, or what is stored would be altered again when it is sent back.
 */
const healthCheckPrefix: Step = (draft) => {
  const command = draft.healthCheck?.command ?? [];
  const start = command.findIndex((word) => !isEnginePrefix(word));
  if (start <= 0) return unchanged(draft);
  const rest = command.slice(start);
  return announced(
    { ...draft, healthCheck: { ...draft.healthCheck, command: rest } },
    {
      field: 'healthCheck.command',
      from: received(command),
      to: received(rest),
      why: `${command[0]} is the engine's prefix; one element is the shell form, several are argv`,
    },
  );
};

const secretsDefaults: Step = (draft) => {
  if (draft.secrets === undefined) {
    return announced(
      { ...draft, secrets: [] },
      { field: 'secrets', from: '(absent)', to: '[]', why: 'no credentials referenced' },
    );
  }
  const alterations: Alteration[] = [];
  const secrets = draft.secrets.map((entry, index) => {
    const filled = { ...entry };
    if (entry.anchor === undefined) {
      Object.assign(filled, { anchor: 'external' });
      alterations.push({
        field: `secrets[${index}].anchor`,
        from: '(absent)',
        to: 'external',
        why: 'never re-minted: the safe reading when nothing is said',
      });
    }
    if (entry.rotation === undefined) {
      Object.assign(filled, { rotation: 'restart' });
      alterations.push({
        field: `secrets[${index}].rotation`,
        from: '(absent)',
        to: 'restart',
        why: 'the only supported rotation',
      });
    }
    return filled;
  });
  return { draft: alterations.length === 0 ? draft : { ...draft, secrets }, alterations };
};

/** 0 on a new spec; afterwards only the rotation operation raises it. A negative value is left for its rule. */
const secretsVersion: Step = (draft, { storedSecretsVersion, body }) => {
  const sent = body['secretsVersion'];
  if (typeof sent === 'number' && sent < 0) return unchanged(draft);
  const next = { ...draft, secretsVersion: storedSecretsVersion };
  if (sent === storedSecretsVersion) return unchanged(next);
  if (sent === undefined || sent === null) {
    if (draft.secretsVersion === storedSecretsVersion && sent === undefined) return unchanged(next);
    return announced(next, {
      field: 'secretsVersion',
      from: received(sent),
      to: String(storedSecretsVersion),
      why: 'the rotation counter of this deployment',
    });
  }
  return announced(next, {
    field: 'secretsVersion',
    from: received(sent),
    to: String(storedSecretsVersion),
    why: 'only the rotation operation changes secretsVersion',
  });
};

const volumeNames: Step = (draft, { volumeIdOf }) => {
  if (volumeIdOf === undefined) return unchanged(draft);
  const { changed, alterations } = resolveVolumeNames(draft, volumeIdOf);
  return alterations.length === 0 ? unchanged(draft) : { draft: { ...draft, ...changed }, alterations };
};

const mountDefaults: Step = (draft) => {
  const alterations: Alteration[] = [];
  const volumes = (draft.volumes ?? []).map((mount, index) => {
    if (!isRecord(mount) || 'readOnly' in mount) return mount;
    alterations.push({
      field: `volumes[${index}].readOnly`,
      from: '(absent)',
      to: 'false',
      why: 'mounts are read-write unless said otherwise',
    });
    return { ...mount, readOnly: false };
  });
  return alterations.length === 0 ? unchanged(draft) : { draft: { ...draft, volumes }, alterations };
};

/**
 * The code in upper case, when that is a country. What is none stays as sent, so that its refusal shows what was
 * received; letters whose upper case has two others (ß is SS, South Sudan) are none.
 */
function countryCode(text: string): string {
  const code = text.toUpperCase();
  return text.length === 2 && isCountry(code) ? code : text;
}

const countryCase: Step = (draft) => {
  const residency = draft.placement?.residency;
  if (residency === undefined) return unchanged(draft);
  const alterations: Alteration[] = [];
  const cased = (field: string, text: string): string => {
    const to = countryCode(text);
    if (to !== text) {
      alterations.push({ field, from: text, to, why: 'ISO 3166-1 alpha-2 codes are stored in upper case' });
    }
    return to;
  };
  const { country, blockedCountries } = residency;
  const next = {
    ...residency,
    ...(country === undefined ? {} : { country: cased('placement.residency.country', country) }),
    ...(blockedCountries === undefined
      ? {}
      : {
          blockedCountries: blockedCountries.map((blocked, index) =>
            cased(`placement.residency.blockedCountries[${index}]`, blocked),
          ),
        }),
  };
  if (alterations.length === 0) return unchanged(draft);
  return { draft: { ...draft, placement: { ...draft.placement, residency: next } }, alterations };
};

/** Sent as an object it is the only entry. */
const ingressList: Step = (draft) => {
  const { ingress } = draft;
  if (ingress === undefined || isList(ingress)) return unchanged(draft);
  return announced(
    { ...draft, ingress: [ingress] },
    {
      field: 'ingress',
      from: received(ingress),
      to: received([ingress]),
      why: 'a list of ways in; one object is its only entry',
    },
  );
};

/** What was stored as labels for Traefik stays so when it is sent again without a provider, as it was before there was a choice. */
const ingressProvider: Step = (draft, { storedView, body }) => {
  const stored = storedView?.['ingress'];
  if (!Array.isArray(stored) || body['ingress'] === undefined) return unchanged(draft);
  const labelled = stored.filter(isRecord).find(({ provider }) => provider === 'traefik');
  const entries = ingressDrafts(draft.ingress);
  const index = entries.findIndex(
    ({ host, path, tls, protocol, provider }) =>
      provider === undefined &&
      path === undefined &&
      tls === undefined &&
      protocol === undefined &&
      host !== undefined &&
      host === labelled?.['host'],
  );
  if (index === -1) return unchanged(draft);
  return announced(
    {
      ...draft,
      ingress: entries.map((entry, at) => (at === index ? { ...entry, provider: 'traefik' } : entry)),
    },
    {
      field: `ingress[${index}].provider`,
      from: '(absent)',
      to: 'traefik',
      why: 'as it is stored; send caddy to serve it by the ingress nodes of the tenant',
    },
  );
};

/** What others change: a difference says nothing of what the client wanted. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['status', 'containerDefaults']);

/** A GET body sent back is accepted; a server-owned key is not taken, and that is said when it differs. */
const serverOwned: Step = (draft, { body, storedView }) => {
  const alterations: Alteration[] = [];
  for (const key of SERVER_OWNED) {
    if (!Object.hasOwn(body, key) || NOT_COMPARED.has(key)) continue;
    const stored = storedView?.[key];
    if (canonicalJson(stored ?? null) === canonicalJson(body[key])) continue;
    alterations.push({
      field: key,
      from: redacted(body[key]),
      to: stored === undefined ? '(set by the server)' : received(stored),
      why: 'the server owns this key; what was sent was ignored',
    });
  }
  return { draft, alterations };
};

/** Everything the server changes in a deployment, in this order; each announces itself. */
const STEPS: readonly Step[] = [
  kindDefault,
  replicasDefault,
  healthCheckPrefix,
  secretsDefaults,
  secretsVersion,
  volumeNames,
  mountDefaults,
  countryCase,
  ingressList,
  ingressProvider,
  serverOwned,
];

export function alterDeployment(input: AlterationInput): Altered {
  return alter(STEPS, input);
}

const jobKindDefault: Step = (draft) =>
  draft.kind === undefined
    ? announced(
        { ...draft, kind: 'Job' },
        { field: 'kind', from: '(absent)', to: 'Job', why: 'default kind of this route' },
      )
    : unchanged(draft);

/** What a job shares with a deployment is altered by the same steps. */
const JOB_STEPS: readonly Step[] = [
  jobKindDefault,
  secretsDefaults,
  volumeNames,
  mountDefaults,
  countryCase,
  serverOwned,
];

export function alterJob(
  input: Omit<AlterationInput, 'storedSecretsVersion'> & { readonly draft: JobDraft },
): Altered<JobDraft> {
  // The steps keep fields that they do not know.
  return alter(JOB_STEPS, { ...input, storedSecretsVersion: 0 });
}

function alter(steps: readonly Step[], input: AlterationInput): Altered {
  let draft = input.draft;
  const alterations: Alteration[] = [];
  for (const step of steps) {
    const altered = step(draft, input);
    draft = altered.draft;
    alterations.push(...altered.alterations);
  }
  return { draft, alterations };
}
