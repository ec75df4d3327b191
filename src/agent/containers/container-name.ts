const SHORT_ID_LENGTH = 8;

/** The end of an id is its random part; its beginning is the time, which instances of one deployment share. */
export function shortId(instanceId: string): string {
  return instanceId
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(-SHORT_ID_LENGTH)
    .toLowerCase();
}

export function secondName(deployment: string, instanceId: string): string {
  return `${deployment}-${shortId(instanceId)}`;
}

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
  return isFree && deployment.length >= SHORTEST_NAME ? deployment : secondName(deployment, instanceId);
}
