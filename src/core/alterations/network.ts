import type { NetworkDraft } from '../contract/network-body.ts';
import type { Alteration } from '../model/announcement.ts';
import type { NetworkSettings } from '../model/network.ts';
import { received } from '../rejections/redaction.ts';

/** The settings of a draft that the rules accepted, with every default announced. */
export function networkSettings(draft: NetworkDraft): {
  readonly settings: NetworkSettings;
  readonly alterations: readonly Alteration[];
} {
  const { name = '', labels = {}, internal = false } = draft;
  const settings = { name, driver: 'bridge', labels, internal } as const;
  const reasons = { driver: 'the only driver', labels: 'no labels', internal: 'with a route out' } as const;
  const absent = (['driver', 'labels', 'internal'] as const).filter((field) => draft[field] === undefined);
  return {
    settings,
    alterations: absent.map((field) => ({
      field,
      from: '(absent)',
      to: received(settings[field]),
      why: reasons[field],
    })),
  };
}

export function chosenNode(nodeId: string): Alteration {
  return { field: 'nodeId', from: '(absent)', to: nodeId, why: 'the only node that is available' };
}
