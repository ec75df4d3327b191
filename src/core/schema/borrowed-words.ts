/** What a field of another system is called here; the first whose field the record has. */
export interface Meant {
  /** Where it is, from the record that the word was used in. */
  readonly field: string;
  /** How it differs, where the name alone would not do. */
  readonly how?: string;
}

const COMMAND: readonly Meant[] = [
  {
    field: 'command',
    how: 'a list of words, given to the entrypoint of the image instead of its own command',
  },
];
const CPU: readonly Meant[] = [{ field: 'resources.limits.cpu', how: 'a number of cores, such as 0.5' }];
const MEMORY: readonly Meant[] = [{ field: 'resources.limits.memory', how: 'a text such as 512Mi' }];
const HEALTH: readonly Meant[] = [{ field: 'healthCheck', how: 'a command that runs in the container' }];
const RESTART: readonly Meant[] = [
  {
    field: 'healthCheck.restartAfter',
    how: 'a container that ended is always started again, with back-off; this says when one that is unhealthy is',
  },
  { field: 'retries', how: 'attempts after the first; a run that succeeded is not started again' },
];
const TOP: readonly Meant[] = [
  { field: 'image', how: 'fields stand at the top of the document: kind, name, image, replicas and so on' },
];
const INGRESS: readonly Meant[] = [{ field: 'ingress', how: 'the host and the port that it leads to' }];
const NAME: readonly Meant[] = [{ field: 'name' }];
const REPLICAS: readonly Meant[] = [{ field: 'replicas' }];
const ENVIRONMENT: readonly Meant[] = [
  { field: 'environment', how: 'a map of names to texts; credentials go into secrets' },
];

/** Words that people bring along from other systems, in lower case without `_` and `-`. */
const WORDS: Readonly<Record<string, readonly Meant[]>> = {
  count: REPLICAS,
  instances: REPLICAS,
  scale: REPLICAS,
  replicacount: REPLICAS,
  desiredcount: REPLICAS,
  env: ENVIRONMENT,
  envs: ENVIRONMENT,
  envvars: ENVIRONMENT,
  envfile: ENVIRONMENT,
  variables: ENVIRONMENT,
  restart: RESTART,
  restartpolicy: RESTART,
  cmd: COMMAND,
  args: COMMAND,
  entrypoint: [
    { field: 'command', how: 'what the entrypoint of the image is given; the entrypoint itself stays' },
  ],
  exec: COMMAND,
  test: [{ field: 'command' }],
  cpu: CPU,
  cpus: CPU,
  cpulimit: CPU,
  cpushares: CPU,
  memory: MEMORY,
  mem: MEMORY,
  memlimit: MEMORY,
  memorylimit: MEMORY,
  memreservation: [{ field: 'resources.requests.memory', how: 'a text such as 256Mi' }],
  ephemeralstorage: [{ field: 'resources.requests.disk', how: 'a text such as 10Gi' }],
  limits: [{ field: 'resources.limits' }],
  requests: [{ field: 'resources.requests' }],
  reservations: [{ field: 'requests' }, { field: 'resources.requests' }],
  healthcheck: HEALTH,
  health: HEALTH,
  probe: HEALTH,
  livenessprobe: HEALTH,
  readinessprobe: HEALTH,
  startupprobe: HEALTH,
  dependson: [{ field: 'dependsOn', how: 'a map of deployment names to started or healthy' }],
  links: [{ field: 'dependsOn', how: 'names of deployments answer in the network of the tenant without it' }],
  port: [{ field: 'ports', how: 'a list such as [{ container: 80, host: 8080 }]' }],
  expose: [{ field: 'ports', how: 'only for a port of the host: within the tenant every port is reached' }],
  publish: [{ field: 'ports', how: 'a list such as [{ container: 80, host: 8080 }]' }],
  target: [{ field: 'mountPath' }, { field: 'container' }],
  containerport: [{ field: 'container' }],
  targetport: [{ field: 'container' }],
  published: [{ field: 'host' }],
  hostport: [{ field: 'host' }],
  hosts: INGRESS,
  domain: INGRESS,
  domains: INGRESS,
  route: INGRESS,
  routes: INGRESS,
  hostname: NAME,
  containername: NAME,
  service: NAME,
  mounts: [{ field: 'volumes', how: 'a list such as [{ volume: data, mountPath: /data }]' }],
  volumemounts: [{ field: 'volumes', how: 'a list such as [{ volume: data, mountPath: /data }]' }],
  volume: [{ field: 'volumes', how: 'a list such as [{ volume: data, mountPath: /data }]' }],
  tmpfs: [{ field: 'volumes', how: 'of a volume of type tmpfs' }],
  config: [{ field: 'files', how: 'small files with their text, mounted read-only' }],
  configs: [{ field: 'files', how: 'small files with their text, mounted read-only' }],
  configmap: [{ field: 'files', how: 'small files with their text, mounted read-only' }],
  network: [{ field: 'networks' }],
  networkmode: [{ field: 'networks', how: 'names of networks; the network of the host is not given' }],
  stopsignal: [{ field: 'stop.signal' }],
  stopgraceperiod: [{ field: 'stop.grace', how: 'a span such as 30s' }],
  terminationgraceperiodseconds: [{ field: 'stop.grace', how: 'a span such as 30s' }],
  killtimeout: [{ field: 'stop.grace', how: 'a span such as 30s' }],
  strategy: [{ field: 'update' }],
  updateconfig: [{ field: 'update' }],
  rollingupdate: [{ field: 'update' }],
  parallelism: [{ field: 'maxSurge' }],
  nodeselector: [{ field: 'placement.constraints', how: 'labels that the node must have' }],
  constraint: [{ field: 'placement.constraints', how: 'labels that the node must have' }],
  constraints: [{ field: 'placement.constraints', how: 'labels that the node must have' }],
  affinity: [{ field: 'placement.antiAffinity', how: 'names of deployments not to share a node with' }],
  node: [{ field: 'nodeId' }, { field: 'placement.constraints' }],
  nodename: [{ field: 'nodeId' }],
  annotations: [{ field: 'labels' }],
  tags: [{ field: 'labels' }],
  capdrop: [{ field: 'capabilities.drop' }],
  capadd: [{ field: 'capabilities.drop', how: 'capabilities can be taken away, none can be added' }],
  readonly: [{ field: 'readOnly' }, { field: 'readOnlyRootFilesystem' }],
  readonlyrootfs: [{ field: 'readOnlyRootFilesystem' }],
  runasuser: [{ field: 'user' }],
  securitycontext: [{ field: 'user', how: 'user, capabilities and readOnlyRootFilesystem stand at the top' }],
  build: [{ field: 'image', how: 'Berth runs images: build and push it before' }],
  cron: [{ field: 'schedule' }],
  crontab: [{ field: 'schedule' }],
  backofflimit: [{ field: 'retries' }],
  activedeadlineseconds: [{ field: 'timeout', how: 'a span such as 30m' }],
  deploy: TOP,
  spec: TOP,
  template: TOP,
  metadata: TOP,
  container: TOP,
  containers: TOP,
  services: TOP,
  apiversion: TOP,
};

/** The field that a word from elsewhere stands for in a record of these fields. */
export function borrowedWord(word: string, known: readonly string[]): Meant | undefined {
  const key = word.toLowerCase().replaceAll('_', '').replaceAll('-', '');
  const meant = Object.hasOwn(WORDS, key) ? WORDS[key] : undefined;
  return meant?.find(({ field }) => known.includes(field.split('.', 1)[0] ?? ''));
}

/** Forms of other systems that are not those of Berth, by the field without its indexes. */
const FORMS: Readonly<Record<string, string>> = {
  'ports[]': 'an object such as { container: 80, host: 8080 }',
  environment: 'an object such as { LOG_LEVEL: info }, not a list of NAME=value',
  command: 'a list of words such as ["/bin/web", "--port", "8080"], not one text',
  'secrets[]': 'an object such as { name: DB, vault_path: resources/db }',
  'files[]': 'an object such as { path: /etc/app.conf, content: "…" }',
};

const INDEX = /\[\d+\]/g;

/** What a field that people write in another form is expected to be, where its type alone would not say it. */
export function expectedForm(field: string): string | undefined {
  const key = field.replaceAll(INDEX, '[]');
  return Object.hasOwn(FORMS, key) ? FORMS[key] : undefined;
}
