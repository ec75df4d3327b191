const SHORT_ID_LENGTH = 8;

/** The end of an id is its random part; its beginning is the time, which instances of one deployment share. */
export function shortId(instanceId: string): string {
  return instanceId
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(-SHORT_ID_LENGTH)
    .toLowerCase();
}

/** What people call an instance, and what its container is called where the deployment's own name is taken. */
export function instanceName(deployment: string, instanceId: string): string {
  return `${deployment}-${shortId(instanceId)}`;
}
