import { shape } from '../../schema/shape.ts';
import { optional, text } from './field-shapes.ts';

export const certificateRevoked = shape({
  type: 'object',
  named: 'CertificateRevoked',
  fields: {
    host: text,
    node: { ...text, description: 'The ingress node that issued it.' },
    issuer: optional(text),
    notAfter: { ...optional(text), description: 'Until when it would have been good.' },
  },
});
