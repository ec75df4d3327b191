import { message } from '../schema/message-shape.ts';

/** Field shapes that messages share. */
export const integer = message({ type: 'integer' });
export const count = message({ type: 'integer', least: 0 });
export const amount = message({ type: 'number', least: 0 });
export const flag = message({ type: 'boolean' });
/** For people: cut rather than refused, without control characters. */
export const humanText = message({ type: 'string', mended: 'prose' });
/** A stable code, in the form of the codes of rejections. */
export const reason = message({ type: 'string', max: 1024, fits: /^[a-z][a-z0-9_]{0,63}$/ });
export const name = message({ type: 'string', fits: /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/ });
/** Text that the control plane sends as it took it from clients. */
export const serverText = message({ type: 'string', max: 1_000_000, anyUnicode: true });
export const serverTextMap = message({ type: 'map', items: serverText });

export function textUpTo<const Max extends number>(max: Max) {
  return { type: 'string', max } as const;
}

export const text = textUpTo(1024);
