import { Facts } from '../../components/facts.tsx';
import { Panel } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { bytes, count } from '../../lib/format.ts';
import type { InstanceDetail } from '../../lib/records.ts';

/** Undefined stays so: a fact without a value is left out. */
function code(text: string | undefined) {
  return text === undefined ? undefined : <code className="font-mono break-all">{text}</code>;
}

/** How often it began again, and because of what. */
function restartsText({ restarts = 0, healthRestarts = 0 }: InstanceDetail): string {
  const causes = [
    ...(restarts > 0 ? [`${count(restarts, 'restart')} after it ended`] : []),
    ...(healthRestarts > 0 ? [`${healthRestarts} because it was unhealthy`] : []),
  ];
  return causes.length === 0 ? 'none' : causes.join(', ');
}

/** Versions of a path that its container holds. */
function versionsText({ current, next, previous }: InstanceDetail['secrets'][number]): string {
  return [
    `version ${current}`,
    ...(next === undefined ? [] : [`next ${next}`]),
    ...(previous === undefined ? [] : [`previous ${previous}`]),
  ].join(', ');
}

export function InstanceFacts({ instance }: { readonly instance: InstanceDetail }) {
  const {
    usage,
    ports = [],
    node,
    secrets,
    attempt,
    startedAt,
    healthySince,
    exitCode,
    containerName,
  } = instance;
  return (
    <div className="grid items-start gap-5 lg:grid-cols-3">
      <Panel title="Container">
        <Facts
          facts={[
            ['Name', code(containerName)],
            ['Number', attempt === 0 ? undefined : `${attempt + 1} of this instance`],
            ['Id', code(instance.containerId?.slice(0, 12))],
            ['Started', startedAt === undefined ? undefined : <TimeAgo key="start" time={startedAt} />],
            ['Healthy', healthySince === undefined ? undefined : <TimeAgo key="well" time={healthySince} />],
            ['Restarts', restartsText(instance)],
            ['Exit code', exitCode],
            ['Uses', usage && `${usage.cpuPercent.toFixed(0)} % of a core, ${bytes(usage.memoryBytes)}`],
          ]}
        />
      </Panel>
      <Panel title="Where">
        <Facts
          facts={[
            ['Address', code(instance.address)],
            [
              'Ports',
              ports.length === 0
                ? undefined
                : code(ports.map(({ container, host }) => `${host}→${container}`).join(', ')),
            ],
            ['Node', node.status],
            ['Last seen', <TimeAgo key="seen" time={node.lastSeenAt} />],
            ['Agent', node.agentVersion],
            ['Engine', node.engine && `${node.engine.kind} ${node.engine.version}`],
            ['Created', <TimeAgo key="created" time={instance.createdAt} />],
          ]}
        />
      </Panel>
      <Panel title="What it received">
        <Facts
          facts={[
            ['Image', code(instance.image)],
            ['Digest', code(instance.imageDigest)],
            ['Spec', code((instance.observedSpecHash ?? instance.specHash).slice(0, 12))],
            ['Secrets', `version ${instance.observedSecretsVersion ?? instance.secretsVersion}`],
            ...secrets.map((one): readonly [string, string] => [one.path, versionsText(one)]),
          ]}
        />
      </Panel>
    </div>
  );
}
