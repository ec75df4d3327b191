import { DISPUTED_FIX, NO_SUBNET_FIX } from '../../../core/contract/mesh-standing.ts';
import type { AddressPlan } from '../../../core/plan/network/addresses.ts';

/** Routes are said by the node: one that says others all the time is not an event each time. */
export const QUIET_MS = 60_000;
/** Of one commit. */
const MOST = 20;

interface Told {
  readonly message: string;
  readonly atMs: number;
}

export interface News {
  readonly node: string;
  readonly kind: 'node.mesh_no_subnet' | 'node.mesh_disputed';
  readonly message: string;
}

/** What a plan says of nodes that nobody was told yet. The control plane that decides next tells it again: rather twice than never. */
export class AddressNews {
  #told: ReadonlyMap<string, Told> = new Map();

  /** `laterMs`: there is more to tell by then. */
  of(plan: AddressPlan, nowMs: number): { readonly news: readonly News[]; readonly laterMs?: number } {
    const isQuiet = (told: Told | undefined): boolean => told !== undefined && nowMs - told.atMs < QUIET_MS;
    const untold = wordsOf(plan).filter(({ node, message }) => this.#told.get(node)?.message !== message);
    const due = untold.filter(({ node }) => !isQuiet(this.#told.get(node)));
    const news = due.slice(0, MOST);
    if (news.length === untold.length) return { news };
    return { news, laterMs: news.length < due.length ? 0 : QUIET_MS };
  }

  /** Once it is stored. */
  told(news: readonly News[], plan: AddressPlan, nowMs: number): void {
    const { without, disputed } = plan;
    const kept = [...this.#told].filter(
      ([node, { atMs }]) => without.has(node) || disputed.has(node) || nowMs - atMs < QUIET_MS,
    );
    this.#told = new Map([
      ...kept,
      ...news.map(({ node, message }) => [node, { message, atMs: nowMs }] as const),
    ]);
  }
}

function wordsOf({ without, disputed }: AddressPlan): readonly News[] {
  return [
    ...[...without].map(([node, why]) => ({
      node,
      kind: 'node.mesh_no_subnet' as const,
      message: `${node} has no part in the tenant's network: ${why}; ${NO_SUBNET_FIX}`,
    })),
    ...[...disputed].map(([node, why]) => ({
      node,
      kind: 'node.mesh_disputed' as const,
      message: `${node} does not reach all of the tenant's network: ${why}; ${DISPUTED_FIX}`,
    })),
  ];
}
