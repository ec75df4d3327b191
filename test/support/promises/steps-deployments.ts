import type { DeploymentSpec } from '../../../src/core/model/deployment.ts';
import { strictestAnchor } from './anchors.ts';
import { pathOf, type Values } from './model.ts';
import type { Answer, PlaneTenant } from './plane.ts';
import type { World } from './world.ts';

export const NAMES = ['web', 'api', 'worker'] as const;
export const PATHS = { DB: 'deployments/db', MAIL: 'resources/mail' } as const;
export const KEYS: Readonly<Record<string, readonly string[]>> = {
  DB: ['user', 'password'],
  MAIL: ['token'],
};
const COUNTRIES = ['DE', 'FR', 'US'] as const;
const CHECKS = [
  { type: 'exec', command: ['pg_isready', '-q'] },
  { type: 'exec', command: ['test -f /tmp/ready'] },
] as const;

type Body = Record<string, unknown>;
type EntryName = keyof typeof PATHS;

export function someTenant({ dice, tenants }: World): PlaneTenant {
  return dice.chance(0.75) ? tenants.shop : tenants.bank;
}

export function someDeployment(world: World, tenant: PlaneTenant): DeploymentSpec | undefined {
  const known = world.deployments(tenant);
  return known.length === 0 ? undefined : world.dice.pick(known).spec;
}

let drawn = 0;
/** A value that no other write has. */
export function freshValue(): string {
  drawn += 1;
  return `value-${drawn}-of-a-credential`;
}

function material(world: World, name: EntryName): Body {
  const keys = KEYS[name] as readonly string[];
  if (world.dice.chance(0.5)) return {};
  if (world.dice.chance(0.6)) return { generate: { keys } };
  const [first = '', ...rest] = keys;
  return rest.length > 0 && world.dice.chance(0.5)
    ? { values: { [first]: freshValue() }, generate: { keys: rest } }
    : { values: Object.fromEntries(keys.map((key) => [key, freshValue()])) };
}

function entry(world: World, name: EntryName, mounted: readonly string[]): Body {
  const { dice } = world;
  const anchors = ['process', 'external', ...mounted.map((id) => `volume(${id})`)];
  return { name, vault_path: PATHS[name], anchor: dice.pick(anchors), ...material(world, name) };
}

function entries(world: World, mounted: readonly string[]): readonly Body[] {
  const names = (Object.keys(PATHS) as EntryName[]).filter(() => world.dice.chance(0.65));
  return names.map((name) => entry(world, name, mounted));
}

function mounts(world: World, tenant: PlaneTenant): readonly Body[] {
  const ready = world.volumes(tenant).filter(({ phase }) => phase === 'Ready');
  if (ready.length === 0 || world.dice.chance(0.5)) return [];
  const { id } = world.dice.pick(ready);
  return [{ volumeId: id, mountPath: '/data', readOnly: world.dice.chance(0.4) }];
}

function residency({ dice }: World): Body {
  if (dice.chance(0.7)) return { country: dice.pick(COUNTRIES) };
  return dice.chance(0.5) ? { region: 'eu' } : { blockedCountries: [dice.pick(COUNTRIES)] };
}

function image({ dice }: World): string {
  return `registry.test/shop/web:1.${dice.below(4)}${dice.chance(0.08) ? '-bad' : ''}`;
}

function description(world: World, tenant: PlaneTenant): Body {
  const { dice } = world;
  const volumes = mounts(world, tenant);
  const secrets = entries(
    world,
    volumes.map(({ volumeId }) => String(volumeId)),
  );
  const reads = secrets.some(({ name }) => name === 'DB');
  return {
    image: image(world),
    replicas: dice.below(4),
    secrets,
    ...(dice.chance(0.6) && { healthCheck: dice.pick(CHECKS) }),
    ...(volumes.length > 0 && { volumes }),
    ...(dice.chance(0.2) && { placement: { residency: residency(world) } }),
    ...(dice.chance(0.1) && { nodeId: world.anyMachine(tenant)?.name ?? 'gone' }),
    ...(dice.chance(0.2) && { ingress: { host: 'shop.example', port: 80, provider: 'traefik' } }),
    ...(reads && dice.chance(0.3) && { composedEnvironment: { URL: 'pg://{{secret.db.user}}@db' } }),
    ...(dice.chance(0.3) && { environment: { MODE: dice.pick(['a', 'b']) } }),
  };
}

function sentFor(
  url: string,
  body: Body,
  path: string,
): { readonly values: readonly string[]; readonly generate: readonly string[] } {
  const entered = ((body['secrets'] ?? []) as readonly Body[]).filter((one) => one['vault_path'] === path);
  const sent = url === `/api/v1/secrets/${path}` ? [body] : entered;
  return {
    values: sent.flatMap((one) => Object.keys(one['values'] ?? {})),
    generate: sent.flatMap((one) => (one['generate'] as { keys?: string[] } | undefined)?.keys ?? []),
  };
}

/** A request that may carry material for what it references: what became of it is judged and believed. */
export async function write(
  world: World,
  tenant: PlaneTenant,
  method: string,
  url: string,
  body: Body,
): Promise<Answer> {
  const before = new Map<string, { readonly values: Values; readonly anchor: string }>();
  for (const path of Object.values(PATHS)) {
    const credential = world.model.credential(tenant, path);
    before.set(path, {
      values: credential.values(credential.current),
      anchor: strictestAnchor(world, credential),
    });
  }
  const answer = await world.request(tenant, method, url, body);
  const sent = (body['spec'] as Body | undefined) ?? body;
  for (const [path, { values, anchor }] of before) {
    const credential = world.model.credential(tenant, path);
    const found = await world.discover(tenant, path, 'write');
    const keys = sentFor(url, sent, path);
    if (answer.status >= 400)
      world.laws.expect(
        'rejections store nothing',
        found.length === 0,
        () => `${method} ${url}: ${path} has versions ${found.join(', ')}`,
      );
    if (found.length === 0 || answer.status >= 400) continue;
    const after = strictestAnchor(world, credential);
    const binding = after.startsWith('volume') && !anchor.startsWith('volume') ? anchor : after;
    world.laws.judgeWritten(
      credential,
      binding === 'none' ? anchor : binding,
      values,
      keys,
      `${method} ${url} ${JSON.stringify(body)}`,
    );
    const now = credential.values(credential.current);
    for (const key of keys.values) credential.generated.delete(key);
    for (const key of keys.generate) if (values[key] !== now[key]) credential.generated.add(key);
  }
  if (answer.status < 400) takePart(world, tenant);
  return answer;
}

/** Whoever reads a credential no more takes no part in its rotation. */
export function takePart(world: World, tenant: PlaneTenant): void {
  for (const credential of world.model.of(tenant)) {
    const readers = world.consumersOf(credential);
    for (const name of credential.rotation?.parts.keys() ?? [])
      if (!readers.includes(name)) credential.left(name);
  }
}

export const DEPLOYMENT_STEPS: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  create: async (world) => {
    const tenant = someTenant(world);
    const name = world.dice.pick(NAMES);
    await write(world, tenant, 'POST', '/api/v1/deployments', {
      kind: 'Deployment',
      name,
      ...description(world, tenant),
    });
  },
  update: async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    const whole = description(world, tenant);
    const keys = Object.keys(whole).filter(() => world.dice.chance(0.3));
    const body = Object.fromEntries(keys.map((key) => [key, whole[key]]));
    await write(world, tenant, 'PUT', `/api/v1/deployments/${spec.name}`, body);
  },
  'drop secrets': async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    const secrets = spec.secrets.filter(() => world.dice.chance(0.5));
    await write(world, tenant, 'PUT', `/api/v1/deployments/${spec.name}`, { secrets });
  },
  'add secrets': async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    const mounted = (spec.volumes ?? []).map(({ volumeId }) => volumeId);
    const has = new Set(spec.secrets.map(pathOf));
    const missing = (Object.keys(PATHS) as EntryName[]).filter((name) => !has.has(PATHS[name]));
    if (missing.length === 0) return;
    const added = entry(world, world.dice.pick(missing), mounted);
    await write(world, tenant, 'PUT', `/api/v1/deployments/${spec.name}`, {
      secrets: [...spec.secrets, added],
    });
  },
  'change anchors': async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined || spec.secrets.length === 0) return;
    const secrets = spec.secrets.map((one) =>
      world.dice.chance(0.5) ? { ...one, anchor: world.dice.pick(['process', 'external']) } : one,
    );
    await write(world, tenant, 'PUT', `/api/v1/deployments/${spec.name}`, { secrets });
  },
  scale: async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    await write(world, tenant, 'PUT', `/api/v1/deployments/${spec.name}`, { replicas: world.dice.below(5) });
  },
  stop: async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    await write(world, tenant, 'PUT', `/api/v1/deployments/${spec.name}`, { replicas: 0 });
  },
  restart: async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec !== undefined) await world.request(tenant, 'POST', `/api/v1/deployments/${spec.name}/restart`);
  },
  delete: async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    await world.request(tenant, 'DELETE', `/api/v1/deployments/${spec.name}`);
    takePart(world, tenant);
  },
  residency: async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    const placement = world.dice.chance(0.3) ? null : { residency: residency(world) };
    await write(world, tenant, 'PUT', `/api/v1/deployments/${spec.name}`, { placement });
  },
  'start canary': async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    const changes = world.dice.chance(0.5)
      ? { image: image(world) }
      : {
          spec: {
            secrets: entries(
              world,
              (spec.volumes ?? []).map(({ volumeId }) => volumeId),
            ),
          },
        };
    await write(world, tenant, 'POST', `/api/v1/deployments/${spec.name}/canary`, changes);
  },
  'end canary': async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    const end = world.dice.pick(['promote', 'abort']);
    await write(world, tenant, 'POST', `/api/v1/deployments/${spec.name}/canary/${end}`, {});
  },
  rollback: async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    const newest = world.deployment(tenant, spec.name)?.version ?? 1;
    await write(world, tenant, 'POST', `/api/v1/deployments/${spec.name}/rollback`, {
      version: 1 + world.dice.below(newest),
    });
  },
  backup: async (world) => {
    const tenant = someTenant(world);
    const spec = someDeployment(world, tenant);
    if (spec === undefined) return;
    const answer = await world.request(tenant, 'POST', '/api/v1/backups', { deploymentName: spec.name });
    if (answer.status < 300) world.backups.push({ tenant, id: String(answer.body['id']) });
  },
  restore: async (world) => {
    if (world.backups.length === 0) return;
    const { tenant, id } = world.dice.pick(world.backups);
    await write(world, tenant, 'POST', `/api/v1/backups/${id}/restore`, {});
  },
  job: async (world) => {
    const tenant = someTenant(world);
    const name = world.dice.pick(['nightly', 'report']);
    const body = { kind: 'Job', name, image: image(world), secrets: entries(world, []) };
    await write(world, tenant, 'POST', '/api/v1/jobs', body);
  },
  'change job': async (world) => {
    const tenant = someTenant(world);
    const body = { image: image(world), ...(world.dice.chance(0.5) && { secrets: entries(world, []) }) };
    await write(world, tenant, 'PUT', `/api/v1/jobs/${world.dice.pick(['nightly', 'report'])}`, body);
  },
  'delete job': async (world) => {
    const tenant = someTenant(world);
    await world.request(tenant, 'DELETE', `/api/v1/jobs/${world.dice.pick(['nightly', 'report'])}`);
  },
};
