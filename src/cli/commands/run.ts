import type { Json } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import type { OptionValues } from '../option-values.ts';
import { type Planned, planDeployment, showPlan, writeDeployment } from '../deploying.ts';
import { UNSERVED } from '../../core/contract/reach-warnings.ts';
import { EXIT } from '../exit-code.ts';
import { Failure, usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { isLasting } from '../unplaced.ts';
import { waitUntilServed } from '../ingress-check.ts';
import { timeoutOf, waitUntilHealthy } from '../waiting.ts';
import { WAIT_OPTIONS } from './apply.ts';

export const run: CommandBody = {
  description: [
    'Deploys one image without a file. Everything that is not said has a default; each is shown with its reason before anything is stored.',
    'An existing deployment is never changed by run: use berth apply, berth scale, or another --name. When no node takes it and waiting would not help, it says why of every node and stores nothing; with --no-wait it is stored all the same. The same with --host where no node of the tenant serves the ingress.',
  ],
  parameters: [
    {
      term: '[image]',
      description: 'A pinned reference: with a tag other than latest, or with a digest. Or by --image.',
    },
  ],
  options: [
    { flags: '--image <image>', description: 'The same as the parameter.' },
    {
      flags: '--name <name>',
      description: "Name of the deployment. Default: the last word of the image's repository.",
    },
    { flags: '--replicas <n>', description: 'How many instances. Default: 1.' },
    {
      flags: '-p, --port <host:container>',
      description:
        'Publish a port of the container on the node; may be repeated. One number leaves the choice of the host port to the engine.',
      repeatable: true,
    },
    {
      flags: '--host <host>',
      description:
        'Serve it under this name by the ingress nodes of the tenant, with a certificate; ends when a node does, with its address.',
    },
    {
      flags: '--host-port <port>',
      description:
        "The container's port that requests for the host go to. Default: that of the only --port, else 80.",
    },
    {
      flags: '-e, --env <key=value>',
      description:
        'A constant in the environment; may be repeated. Credentials are refused here: berth secret.',
      repeatable: true,
    },
    {
      flags: '--health <command>',
      description:
        'Shell command inside the container that ends with 0 when it is healthy. Default: none, and an instance counts as healthy while it runs.',
    },
    {
      flags: '--node <node>',
      description: 'Place it on this node. Default: the scheduler chooses.',
      names: 'nodes',
    },
    { flags: '--dry-run', description: 'Show the plan; store nothing. Ends with 5: something would change.' },
    ...WAIT_OPTIONS,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    {
      line: 'berth run registry.example.com/shop/web:1.4.2 --port 18080:8080',
      what: 'one instance, reachable at port 18080 of its node',
    },
    {
      line: 'berth run --host shop.example.com --image registry.example.com/shop/web:1.4.2 --host-port 8080',
      what: 'served at https://shop.example.com/',
    },
    {
      line: "berth run nginx:1.29.1 --name front --replicas 3 --health 'wget -qO- localhost/'",
      what: 'three instances with a health check',
    },
  ],
  run: async (session, { parameters: [given], options }) => {
    const image = imageOf(given, options.text('image'));
    const timeoutMs = timeoutOf(options);
    const { body, name, defaults } = deploymentOf(image, options);
    const client = session.client(options);
    const planned = await planDeployment(client, name, body);
    if (planned.action !== 'create') {
      throw new Failure(`there is a deployment ${name} already; run never changes one`, {
        advice: [`berth run ${image} --name ANOTHER`, `berth describe deployment ${name}`],
      });
    }
    const style = session.terminal.errStyle;
    for (const [field, value, why] of defaults)
      session.terminal.err(`  ${field}: ${value}  ${style.dim(why)}\n`);
    showPlan(session, planned);
    if (options.flag('dryRun')) {
      session.terminal.err('dry run: nothing was stored\n');
      return EXIT.wouldChange;
    }
    const waits = options.unlessDenied('wait');
    if (waits) {
      refuseUnplaced(planned);
      refuseUnserved(planned);
    }
    const stored = await writeDeployment(session, client, planned);
    if (!waits) return EXIT.ok;
    const code = await waitUntilHealthy(
      session,
      client,
      { name, specHash: textOf(stored.specHash) },
      timeoutMs,
    );
    const host = options.text('host');
    const served =
      code === EXIT.ok && host !== undefined
        ? await waitUntilServed(session, client, { name, host }, timeoutMs)
        : code;
    if (served === EXIT.ok)
      session.terminal.err(
        `${session.next(`berth logs ${name} · berth scale ${name} ${(stored.replicas ?? 1) + 1} · berth delete deployment ${name}`)}\n`,
      );
    return served;
  },
};

function imageOf(parameter: string | undefined, option: string | undefined): string {
  if (parameter !== undefined && option !== undefined)
    throw usage(`two images: ${parameter} and --image ${option}`, [
      `berth run --name ${parameter} --image ${option}, if ${parameter} is to be its name`,
    ]);
  const image = parameter ?? option;
  if (image === undefined) throw usage('no image', ['berth run IMAGE', 'berth run --image IMAGE']);
  return image;
}

/** The plan has named every node with every reason; waiting for what it says cannot happen would help nobody. */
function refuseUnplaced({ name, answer }: Planned): void {
  const unplaced = answer.plan?.unplaced;
  if (unplaced?.count === undefined) return;
  const nodes = unplaced.nodes ?? [];
  if (!isLasting(nodes)) return;
  throw new Failure(`no node takes ${name} (${textOf(unplaced.summary)}); nothing was stored`, {
    advice: [
      ...(nodes.length === 0 ? ['Enrol a machine first: berth node token'] : []),
      'To store it all the same, so that it starts once a node takes it: --no-wait',
    ],
  });
}

/** Nothing that is waited for would make a node serve the host. */
function refuseUnserved({ answer }: Planned): void {
  const unserved = answer.warnings?.find(({ code }) => code === UNSERVED);
  if (unserved === undefined) return;
  throw new Failure('nobody serves --host; nothing was stored', {
    advice: [
      'Start the agent of a node with --ingress on, on a machine with Caddy (package caddy), then again.',
      'To store it all the same, so that it is served once a node does: --no-wait',
    ],
  });
}

type Default = readonly [field: string, value: string, why: string];

function deploymentOf(
  image: string,
  options: OptionValues,
): { readonly body: Json; readonly name: string; readonly defaults: readonly Default[] } {
  const given = options.text('name');
  const name = given ?? nameFromImage(image);
  const replicas = options.text('replicas');
  const health = options.text('health');
  const node = options.text('node');
  const ports = options.list('port').map(portOf);
  const ingress = ingressOf(options, ports);
  const environment = Object.fromEntries(options.list('env').map(environmentEntry));
  const body: Json = {
    kind: 'Deployment',
    name,
    image,
    ...(replicas === undefined ? {} : { replicas: wholeNumber('--replicas', replicas) }),
    ...(ports.length === 0 ? {} : { ports }),
    ...(ingress === undefined ? {} : { ingress: [ingress] }),
    ...(Object.keys(environment).length === 0 ? {} : { environment }),
    ...(health === undefined ? {} : { healthCheck: { type: 'exec', command: [health] } }),
    ...(node === undefined ? {} : { nodeId: node }),
  };
  const defaults: readonly (Default | undefined)[] = [
    given === undefined ? ['name', name, "from the image's repository; --name chooses another"] : undefined,
    health === undefined
      ? ['health check', 'none', 'an instance counts as healthy while it runs; --health checks it']
      : undefined,
    ports.length === 0 && ingress === undefined
      ? ['ports', 'none', 'reachable on the tenant network only; --port publishes one']
      : undefined,
    node === undefined ? ['node', 'chosen by the scheduler', '--node names one'] : undefined,
  ];
  return { body, name, defaults: defaults.filter((entry) => entry !== undefined) };
}

function ingressOf(options: OptionValues, ports: readonly Json[]): Json | undefined {
  const host = options.text('host');
  const port = options.text('hostPort');
  if (host === undefined && port !== undefined)
    throw usage('--host-port without --host', ['name the host that is served: --host shop.example.com']);
  if (host === undefined) return undefined;
  const [only, another] = ports;
  const published = another === undefined ? only?.['container'] : undefined;
  return { host, port: port === undefined ? (published ?? 80) : wholeNumber('--host-port', port) };
}

/** The last word of the repository, as far as it can be a name. */
export function nameFromImage(image: string): string {
  // Whether the reference is a good one is the control plane's to say; a tag or digest is no part of the name either way.
  const [bare = ''] = (image.split('/').at(-1) ?? '').split(/[:@]/, 1);
  const word = bare
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 63)
    .replace(/-{1,63}$/, '');
  if (word === '') throw usage(`no name can be made from ${image}`, ['choose one with --name']);
  return word;
}

export function portOf(text: string): Json {
  const match = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text);
  if (match === null) throw usage(`--port ${text}: expected HOST:CONTAINER, e.g. 18080:8080, or CONTAINER`);
  const [, host, container] = match;
  return { container: Number(container), ...(host === undefined ? {} : { host: Number(host) }) };
}

export function environmentEntry(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw usage(`--env ${at === -1 ? text : ''}: expected KEY=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

export function wholeNumber(flag: string, text: string): number {
  if (!/^-?\d{1,9}$/.test(text)) throw usage(`${flag} ${text}: expected a whole number`);
  return Number(text);
}
