import { message } from '../schema/message-shape.ts';

/** Words that messages are made of. */
export const integer = message({ type: 'integer' });
export const count = message({ type: 'integer', least: 0 });
export const amount = message({ type: 'number', least: 0 });
export const flag = message({ type: 'boolean' });
/** For people: cut rather than refused, without control characters. */
export const words = message({ type: 'string', mended: 'words' });
/** A stable word, in the form of the codes of rejections. */
export const reason = message({ type: 'string', max: 1024, fits: /^[a-z][a-z0-9_]{0,63}$/ });
export const name = message({ type: 'string', fits: /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/ });
/** What the control plane says: of what it took from clients, as it took it. */
export const told = message({ type: 'string', max: 1_000_000, anyUnicode: true });
export const toldMap = message({ type: 'map', items: told });

export function textOf<const Max extends number>(max: Max) {
  return { type: 'string', max } as const;
}

export const text = textOf(1024);
