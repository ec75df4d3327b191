import { type ComponentProps, useState } from 'react';
import { TextAreaField, TextField } from './field.tsx';

interface Entered {
  /** The value as text, when the field appears. */
  readonly shown: string;
  /** Told the text after every change; what it makes of it does not change the text. */
  readonly onEnter: (text: string) => void;
}

/** For values that are not text: half a number or a list with a trailing comma must stay as they are typed. */
export function EnteredField({
  shown,
  onEnter,
  ...rest
}: Entered & Omit<ComponentProps<typeof TextField>, 'value' | 'onChange'>) {
  const [text, setText] = useState(shown);
  return (
    <TextField
      {...rest}
      value={text}
      onChange={(next) => {
        setText(next);
        onEnter(next);
      }}
    />
  );
}

export function EnteredArea({
  shown,
  onEnter,
  ...rest
}: Entered & Omit<ComponentProps<typeof TextAreaField>, 'value' | 'onChange'>) {
  const [text, setText] = useState(shown);
  return (
    <TextAreaField
      {...rest}
      value={text}
      onChange={(next) => {
        setText(next);
        onEnter(next);
      }}
    />
  );
}
