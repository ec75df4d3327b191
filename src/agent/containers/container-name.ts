import { instanceName } from '../../core/model/instance-name.ts';

/** Docker takes no name of one character. */
const SHORTEST_NAME = 2;

/** The deployment's name when it is free on this node, else with the short id. `taken` knows its holders. */
export function chooseName(
  deployment: string,
  instanceId: string,
  taken: ReadonlyMap<string, string>,
): string {
  const holder = taken.get(deployment);
  const isFree = holder === undefined || holder === instanceId;
  return isFree && deployment.length >= SHORTEST_NAME ? deployment : instanceName(deployment, instanceId);
}
