/** Of an audit line. */
interface Acted {
  readonly actor?: string | undefined;
  readonly actorTenantId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly role?: string | undefined;
}

/** Who did it, for a person: the name of the token, the system, or a platform administrator of another tenant. */
export function actorText(
  { actor = '', actorTenantId, tenantId, role = '' }: Acted,
  names: ReadonlyMap<string, string>,
): string {
  if (actor === 'system') return 'Berth itself';
  const name = names.get(actor);
  if (name !== undefined) return name;
  if (actor.startsWith('join')) return 'a join token';
  return actorTenantId !== undefined && actorTenantId !== tenantId ? `${role} of the platform` : actor;
}
